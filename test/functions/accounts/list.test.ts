import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { request } from "../../support/request.ts";
import {
  grant,
  newAccount,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
} from "../../support/world.ts";

const path = "/v1/public/accounts";
const ids = (body: { items: { id: string }[] }): string[] => body.items.map(({ id }) => id);

test("shows exactly the accounts a user belongs to, oldest membership first, with the exact total", async () => {
  const user = newUser();
  const accounts = [await newAccount({ owner: user }), await newAccount(), await newAccount()];
  await grant(accounts[1]!, user, { role: "viewer" });
  const { body } = await request("GET", path, { token: user.token });
  expect(ids(body)).toEqual([accounts[0]!.id, accounts[1]!.id]);
  expect(body).toMatchObject({ page: 1, page_size: 25, total: 2 });
});

test("shows an account once, however many grants its member holds", async () => {
  const [account, user] = [await newAccount(), newUser()];
  await grant(account, user, { role: "viewer" }, { capability: "billing.view" });
  await grant(account, user, { role: "editor" });
  expect((await request("GET", path, { token: user.token })).body).toMatchObject({ total: 1 });
});

test("is empty for a user who belongs to no account", async () => {
  const { body } = await request("GET", path, { token: newUser().token });
  expect(body).toEqual({ items: [], page: 1, page_size: 25, total: 0 });
});

test("filters the user's accounts by client and by status, and pages through them", async () => {
  const user = newUser();
  const first = await newAccount({ owner: user });
  const same = await newAccount({ owner: user, clientId: first.clientId });
  const other = await newAccount({ owner: user });
  await newAccount({ clientId: first.clientId });
  await setAccountStatus(testTable(), same.id, "suspended", new Date());
  const get = async (query: string) => (await request("GET", `${path}?${query}`, { token: user.token })).body;
  expect(ids(await get(`client_id=${first.clientId}`))).toEqual([first.id, same.id]);
  expect(ids(await get("status=suspended"))).toEqual([same.id]);
  expect(ids(await get("status=active"))).toEqual([first.id, other.id]);
  expect(await get(`client_id=${first.clientId}&status=active`)).toMatchObject({ total: 1 });
  expect(await get("page=2&page_size=2")).toMatchObject({ items: [{ id: other.id }], total: 3, page: 2, page_size: 2 });
  expect(await get("page=3&page_size=2")).toMatchObject({ items: [], total: 3 });
});

test.each(["", "nothing", "active/x", "__proto__", "x".repeat(3_000)])(
  "finds no account for the unknown status %j, for a user and for a super admin",
  async (status) => {
    const { owner } = await newAccount();
    for (const { token } of [owner, await newSuperAdmin()]) {
      const answer = await request("GET", `${path}?status=${encodeURIComponent(status)}`, { token });
      expect([answer.status, answer.body.items, answer.body.total]).toEqual([200, [], 0]);
    }
  },
);

test("shows a super admin every account of a client, and the status filters follow a change of status", async () => {
  const admin = await newSuperAdmin();
  const first = await newAccount();
  const second = await newAccount({ clientId: first.clientId });
  const get = async (query: string) =>
    (await request("GET", `${path}?client_id=${first.clientId}&${query}`, { token: admin.token })).body;
  expect(ids(await get(""))).toEqual([first.id, second.id]);
  await setAccountStatus(testTable(), first.id, "suspended", new Date());
  expect(ids(await get("status=active"))).toEqual([second.id]);
  expect(await get("status=suspended")).toMatchObject({ items: [{ id: first.id, status: "suspended" }], total: 1 });
  await setAccountStatus(testTable(), first.id, "active", new Date());
  expect(ids(await get("status=active"))).toEqual([second.id, first.id]);
});

test("shows the accounts that the groups in a token give, after the user's own, each once", async () => {
  const [own, claimed, both] = [await newAccount(), await newAccount(), await newAccount()];
  const groupIn = async ({ id, owner }: Account): Promise<string> =>
    (await request("POST", `/v1/public/accounts/${id}/auth/groups`, { token: owner.token, body: { name: "Staff" } }))
      .body.idp_name;
  const groups = [await groupIn(claimed), await groupIn(both), `${own.id}/made-up`, "someone-else's group"];
  const user = newUser({ groups });
  await grant(both, user, { role: "viewer" });
  await grant(own, user, { role: "viewer" });
  const get = async (query: string) => (await request("GET", `${path}?${query}`, { token: user.token })).body;
  expect(ids(await get(""))).toEqual([both.id, own.id, claimed.id]);
  expect(await get("page=2&page_size=2")).toMatchObject({ items: [{ id: claimed.id }], total: 3 });
  expect(await get(`client_id=${claimed.clientId}`)).toMatchObject({ items: [{ id: claimed.id }], total: 1 });
});

test("shows a service account its own account only", async () => {
  const account = await newAccount();
  const service = await newServiceAccount(account, { role: "viewer" });
  const { body } = await request("GET", path, { token: service.token });
  expect(ids(body)).toEqual([account.id]);
  expect((await request("GET", `${path}?status=closed`, { token: service.token })).body).toMatchObject({ total: 0 });
});
