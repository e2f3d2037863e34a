import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { home, send } from "../../support/mailboxes.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { id: domainId, name: domain } = await home(account);
  const add = async (name: string, scope = {}): Promise<string> =>
    (await send(account, "POST", "credentials", { name, generate: true, ...scope })).body.id;
  const ids = [await add("first"), await add("second", { domain })] as const;
  const remove = (id: string, options = {}) => send(account, "DELETE", `credentials/${id}`, undefined, options);
  return { account, domainId, ids, remove };
}

test("deletes a master password once, with its stored hash, and leaves the others", async () => {
  const { account, ids, remove } = await scene();
  const answer = await remove(ids[0]);
  expect([answer.status, answer.body]).toEqual([200, {}]);
  expect((await remove(ids[0])).status).toBe(404);
  expect((await send(account, "GET", "credentials")).body).toMatchObject({ items: [{ id: ids[1] }], total: 1 });
  const left = (await storedOf(account)).filter(({ SK }) => SK.startsWith("MASTER#"));
  expect(left.map(({ credential_id }) => credential_id)).toEqual([ids[1]]);
});

test("of many concurrent deletions one succeeds, and the total falls by one", async () => {
  const { account, ids, remove } = await scene();
  expect(statusesOf(await Promise.all(Array.from({ length: 6 }, () => remove(ids[1]))))).toEqual([
    200,
    ...Array(5).fill(404),
  ]);
  expect((await send(account, "GET", "credentials")).body).toMatchObject({ items: [{ id: ids[0] }], total: 1 });
});

test("another account's master password gets 404, and an invalid id gets 422", async () => {
  const [own, theirs] = [await scene(), await scene()];
  expect((await own.remove(theirs.ids[0])).status).toBe(404);
  expect((await own.remove("x")).body.detail).toMatchObject([{ loc: ["path", "credential_id"] }]);
  expect((await send(theirs.account, "GET", "credentials")).body.total).toBe(2);
});

test("needs credential.manage on the scope of the master password", async () => {
  const { account, domainId, ids, remove } = await scene();
  const scope = { type: "domain" as const, id: domainId };
  const manager = await newMember(account, { capability: "credential.manage", scope });
  const viewer = await newMember(account, { capability: "credential.view" });
  expect((await remove(ids[1], { as: viewer })).body.required_capability).toBe("credential.manage");
  expect((await remove(ids[0], { as: manager })).status).toBe(404);
  expect((await remove(ids[1], { as: manager })).status).toBe(200);
});
