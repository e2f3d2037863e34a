import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { accountWith } from "../../support/named.ts";
import { request } from "../../support/request.ts";
import { newMember } from "../../support/world.ts";

const namesOf = (body: { items: { name: string }[] }): string[] => body.items.map(({ name }) => name);

test("pages oldest first with an exact total and no gap after a deletion, and is empty past the end", async () => {
  const { list, ids, path, token } = await accountWith("tags", "E", "A", "C", "B");
  expect(namesOf(await list("?page_size=3"))).toEqual(["E", "A", "C"]);
  expect(namesOf(await list("?page=2&page_size=3"))).toEqual(["B"]);
  await request("DELETE", `${path}/${ids[1]}`, { token });
  expect(namesOf(await list("?page_size=3"))).toEqual(["E", "C", "B"]);
  expect(await list("?page=2&page_size=3")).toEqual({ items: [], page: 2, page_size: 3, total: 3 });
});

test("every member of the account sees its tags, and no tags of another account", async () => {
  const { account, list } = await accountWith("tags", "A");
  await accountWith("tags", "Theirs");
  const workspaceId = await newWorkspace(account, "One");
  const narrow = await newMember(account, { role: "viewer", scope: { type: "workspace", id: workspaceId } });
  expect(await list("", narrow.token)).toMatchObject({ total: 1, items: [{ name: "A" }] });
});

test.each([
  ["page=0", "page"],
  ["page_size=101", "page_size"],
  ["name=A", "name"],
])("refuses ?%s at its place", async (query, name) => {
  const { list } = await accountWith("tags");
  expect((await list(`?${query}`)).detail).toMatchObject([{ loc: ["query", name] }]);
});
