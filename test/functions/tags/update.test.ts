import { expect, test } from "vitest";

import { connected } from "../../support/domains.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, method: string, path: string, body?: unknown, { token } = owner) =>
  request(method, `/v1/public/accounts/${id}/${path}`, { token, ...(body === undefined ? {} : { body }) });

async function newTag(account: Account, name: string): Promise<{ id: string } & Record<string, unknown>> {
  return (await send(account, "POST", "tags", { name, color_hex: "#1a7f37", description: "Who sells" })).body;
}

test("changes the given members and leaves the others, and every domain shows the new name", async () => {
  const account = await newAccount();
  const tag = await newTag(account, "Sales");
  const domain = await connected(account);
  await send(account, "PATCH", `domains/${domain.name}`, { tag_ids: [tag.id] });
  const renamed = await send(account, "PATCH", `tags/${tag.id}`, { name: "Key accounts" });
  expect(renamed).toMatchObject({ status: 200, body: { ...tag, name: "Key accounts" } });
  const cleared = await send(account, "PATCH", `tags/${tag.id}`, { color_hex: null, description: null });
  expect(cleared.body).toEqual({ ...renamed.body, color_hex: null, description: null });
  const shown = await send(account, "GET", `domains/${domain.name}`);
  expect(shown.body.tags).toEqual([expect.objectContaining({ id: tag.id, name: "Key accounts" })]);
  const { items } = (await send(account, "GET", "audit-log?page_size=2")).body;
  expect(items.map((one: { event_type: string }) => one.event_type)).toEqual(["tag.updated", "tag.updated"]);
  // The former name is free again.
  expect((await send(account, "POST", "tags", { name: "sales" })).status).toBe(201);
});

test("refuses the name of another tag, and allows another letter case of the tag's own name", async () => {
  const account = await newAccount();
  const [sales, support] = [await newTag(account, "Sales"), await newTag(account, "Support")];
  const refused = await send(account, "PATCH", `tags/${support.id}`, { name: "SALES" });
  expect(refused.body).toMatchObject({ status: 409, code: "tag_name_taken", conflicts_with: sales.id });
  expect((await send(account, "PATCH", `tags/${support.id}`, { name: "SUPPORT" })).body.name).toBe("SUPPORT");
  expect(await send(account, "PATCH", `tags/${sales.id}`, { name: "Support" })).toMatchObject({ status: 409 });
});

test("a change to the present value writes nothing", async () => {
  const account = await newAccount();
  const tag = await newTag(account, "Sales");
  const entries = async () => (await send(account, "GET", "audit-log")).body.total;
  const before = await entries();
  expect((await send(account, "PATCH", `tags/${tag.id}`, { name: "Sales" })).body).toEqual(tag);
  expect((await send(account, "PATCH", `tags/${tag.id}`, {})).body).toEqual(tag);
  expect(await entries()).toBe(before);
});

test("if several tags are renamed to the same name at the same time, one of them gets it", async () => {
  const account = await newAccount();
  const tags = await Promise.all(["a", "b", "c", "d", "e"].map((name) => newTag(account, name)));
  const answers = await Promise.all(tags.map(({ id }) => send(account, "PATCH", `tags/${id}`, { name: "One" })));
  expect(statusesOf(answers)).toEqual([200, 409, 409, 409, 409]);
  const { items } = (await send(account, "GET", "tags")).body;
  expect(items.filter(({ name }: { name: string }) => name === "One")).toHaveLength(1);
});

test("404 for a tag that the account does not have, and 403 without tag.manage", async () => {
  const account = await newAccount();
  const tag = await newTag(account, "Sales");
  const other = await newAccount();
  expect((await send(other, "PATCH", `tags/${tag.id}`, { name: "Theirs" })).status).toBe(404);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await send(account, "PATCH", `tags/${tag.id}`, { name: "Mine" }, viewer)).status).toBe(403);
});
