import { expect, test } from "vitest";

import { withStep } from "../../support/between-calls.ts";
import { connected, domainsRequest } from "../../support/domains.ts";
import { accountWith } from "../../support/named.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newMember } from "../../support/world.ts";

test("deletes once, and the name is free for another tag", async () => {
  const { ids, add, remove, total } = await accountWith("tags", "Sales", "Other");
  const answer = await remove(ids[0]);
  expect([answer.status, answer.body]).toEqual([200, {}]);
  expect((await remove(ids[0])).status).toBe(404);
  expect(await total()).toBe(1);
  const { body: again } = await add("sales");
  expect(again).toMatchObject({ name: "sales" });
  expect(again.id).not.toBe(ids[0]);
  expect((await remove(ids[0])).status).toBe(404);
  expect(await total()).toBe(2);
});

test("removes the tag from the domains that have it, and keeps their other tags", async () => {
  const { account, ids, add, remove } = await accountWith("tags", "Sales", "Other");
  const { name } = await connected(account);
  await domainsRequest(account, "PATCH", `/${name}`, { tag_ids: ids });
  await remove(ids[0]);
  const kept = [{ id: ids[1], name: "Other" }];
  expect((await domainsRequest(account, "GET", `/${name}`)).body.tags).toEqual(kept);
  await add("Sales");
  expect((await domainsRequest(account, "GET", "")).body.items).toMatchObject([{ name, tags: kept }]);
  const gone = await domainsRequest(account, "PATCH", `/${name}`, { tag_ids: ids });
  expect(gone.body.detail).toMatchObject([{ loc: ["body", "tag_ids", 0], type: "not_found" }]);
});

// A domain keeps the id of a deleted tag, so domains.list checks that the tag exists.
test("domains.list finds no domains by a deleted tag", async () => {
  const { account, ids, remove } = await accountWith("tags", "Sales");
  const { name } = await connected(account);
  await domainsRequest(account, "PATCH", `/${name}`, { tag_ids: ids });
  const found = async () => (await domainsRequest(account, "GET", `?tag_id=${ids[0]}`)).body.total;
  expect(await found()).toBe(1);
  await remove(ids[0]);
  expect(await found()).toBe(0);
});

test("one of many concurrent deletions succeeds, and the total falls by one", async () => {
  const { ids, remove, total } = await accountWith("tags", "Sales", "Other");
  const answers = await Promise.all(Array.from({ length: 8 }, () => remove(ids[0])));
  expect(statusesOf(answers)).toEqual([200, ...Array(7).fill(404)]);
  expect(await total()).toBe(1);
});

test("if a tag is deleted while requests add a tag with its name, the name is taken only if such a tag was added", async () => {
  const { account, ids, add, remove, total } = await accountWith("tags", "Sales");
  await Promise.all([remove(ids[0]), ...Array.from({ length: 4 }, () => add("Sales"))]);
  const left = await total();
  expect([0, 1]).toContain(left);
  const { status } = await request("POST", `/v1/public/accounts/${account.id}/tags`, {
    token: account.owner.token,
    body: { name: "SALES" },
  });
  expect(status).toBe(left === 1 ? 409 : 201);
});

test("if a tag is renamed during its deletion, both names are free afterwards", async () => {
  for (let at = 0, calls = 1; at < calls; at++) {
    const { account, ids, add, remove } = await accountWith("tags", "Sales");
    const rename = () =>
      request("PATCH", `/v1/public/accounts/${account.id}/tags/${ids[0]}`, {
        token: account.owner.token,
        body: { name: "Other" },
      });
    const done = await withStep(at, rename, () => remove(ids[0]));
    expect([done.value.status, (await add("Sales")).status, (await add("Other")).status], String(at)).toEqual([
      200, 201, 201,
    ]);
    calls = done.calls;
  }
});

test("returns 404 for another account's tag and for a forged id, and needs tag.manage", async () => {
  const { account, ids, remove } = await accountWith("tags", "Sales");
  const [id = ""] = ids;
  const theirs = await accountWith("tags", "Theirs");
  expect((await theirs.remove(id)).status).toBe(404);
  expect((await remove(`${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`)).status).toBe(404);
  expect((await remove(account.id)).status).toBe(404);
  expect((await remove("nonsense")).body.detail).toMatchObject([{ loc: ["path", "tag_id"] }]);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await remove(id, viewer.token)).body).toMatchObject({ status: 403, required_capability: "tag.manage" });
});
