import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

async function accountWith(...names: string[]) {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/tags`;
  const { token } = account.owner;
  const ids: string[] = [];
  for (const name of names) ids.push((await request("POST", path, { token, body: { name } })).body.id);
  const list = async (query = "", as = token) => (await request("GET", `${path}${query}`, { token: as })).body;
  return { account, path, token, ids, list };
}

const namesOf = (body: { items: { name: string }[] }): string[] => body.items.map(({ name }) => name);

test("pages oldest first with an exact total, closes up when tags go, and is empty past the end", async () => {
  const { list, ids, path, token } = await accountWith("E", "A", "C", "B");
  expect(namesOf(await list("?page_size=3"))).toEqual(["E", "A", "C"]);
  expect(namesOf(await list("?page=2&page_size=3"))).toEqual(["B"]);
  await request("DELETE", `${path}/${ids[1]}`, { token });
  expect(namesOf(await list("?page_size=3"))).toEqual(["E", "C", "B"]);
  expect(await list("?page=2&page_size=3")).toEqual({ items: [], page: 2, page_size: 3, total: 3 });
});

test("every member of the account sees the tags, and nobody another account's", async () => {
  const { account, list } = await accountWith("A");
  await accountWith("Theirs");
  const workspaceId = await newWorkspace(account, "One");
  const narrow = await newMember(account, { role: "viewer", scope: { type: "workspace", id: workspaceId } });
  expect(await list("", narrow.token)).toMatchObject({ total: 1, items: [{ name: "A" }] });
});

test.each([
  ["page=0", "page"],
  ["page_size=101", "page_size"],
  ["name=A", "name"],
])("refuses ?%s at its place", async (query, name) => {
  const { list } = await accountWith();
  expect((await list(`?${query}`)).detail).toMatchObject([{ loc: ["query", name] }]);
});
