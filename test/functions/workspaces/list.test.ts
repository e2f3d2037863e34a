import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

async function withWorkspaces(count: number): Promise<Account & { ids: string[]; path: string }> {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { body } = await request("POST", path, { token: account.owner.token, body: { name: `W${index}` } });
    ids.push(body.id);
  }
  return { ...account, ids, path };
}

const idsOf = (body: { items: { id: string }[] }): string[] => body.items.map(({ id }) => id);

test("pages oldest first with an exact total, and a page past the end is empty", async () => {
  const { owner, ids, path } = await withWorkspaces(7);
  const get = async (query: string) => (await request("GET", `${path}?${query}`, { token: owner.token })).body;
  expect(idsOf(await get("page_size=3"))).toEqual(ids.slice(0, 3));
  expect(idsOf(await get("page=3&page_size=3"))).toEqual(ids.slice(6));
  expect(await get("page=4&page_size=3")).toEqual({ items: [], page: 4, page_size: 3, total: 7 });
});

test("a page has no gaps after workspaces are deleted", async () => {
  const { owner, ids, path } = await withWorkspaces(5);
  for (const id of [ids[0], ids[3]]) await request("DELETE", `${path}/${id}`, { token: owner.token });
  const { body } = await request("GET", `${path}?page=2&page_size=2`, { token: owner.token });
  expect(body).toMatchObject({ total: 3, items: [{ id: ids[4] }] });
});

test("shows a caller with narrow grants only the workspaces in their scopes, and the total agrees", async () => {
  const account = await withWorkspaces(4);
  const scope = (index: number) => ({ type: "workspace" as const, id: account.ids[index] ?? "" });
  const member = await newMember(
    account,
    { capability: "workspace.view", scope: scope(3) },
    { role: "viewer", scope: scope(1) },
    { capability: "domain.view", scope: scope(0) },
  );
  const get = async (query: string) => (await request("GET", `${account.path}?${query}`, { token: member.token })).body;
  expect(await get("")).toMatchObject({ items: [{ id: account.ids[1] }, { id: account.ids[3] }], total: 2 });
  expect(await get("page=2&page_size=1")).toMatchObject({ items: [{ id: account.ids[3] }], total: 2 });
  await request("DELETE", `${account.path}/${account.ids[1]}`, { token: account.owner.token });
  expect(await get("")).toMatchObject({ items: [{ id: account.ids[3] }], total: 1 });
});

test.each([
  ["page=0", "page", "greater_than_equal"],
  ["page=-1", "page", "greater_than_equal"],
  ["page=abc", "page", "number_type"],
  ["page=1.5", "page", "number_type"],
  ["page=1e1", "page", "number_type"],
  ["page=", "page", "number_type"],
  ["page=1&page=2", "page", "number_type"],
  ["page_size=101", "page_size", "less_than_equal"],
  ["page_size=0", "page_size", "greater_than_equal"],
  ["sort=name", "sort", "extra_forbidden"],
  ["__proto__=1", "__proto__", "extra_forbidden"],
])("refuses ?%s", async (query, name, type) => {
  const { id, owner } = await newAccount();
  const answer = await request("GET", `/v1/public/accounts/${id}/workspaces?${query}`, { token: owner.token });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toEqual([{ loc: ["query", name], type, msg: expect.any(String) }]);
});
