import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { createAccount, createClient, getClient, setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { accountIds, accountsMatching } from "../../../shared/accounts/account.ts";
import { accessKey, groupsKey, idpNameOf, userKey } from "../../../shared/accounts/standing.ts";
import { getAccount, visibleAccounts } from "../../../shared/accounts/visible.ts";
import type { Principal } from "../../../shared/auth/principal.ts";
import { readRows } from "../../../shared/table/ranked-list.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const now = new Date("2026-03-01T00:00:00.000Z");
const ada = "00000000-0000-4000-8000-0000000000ad";
const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;
const user = (id: string, groups: string[] = []): Principal => ({ type: "user", id, email: "", groups });

/** A new table with accounts 1 to `count`. Ada owns all. The odd and the even accounts belong to two clients. */
async function scene(count = 4) {
  const table = openMemoryTable(createMemoryStore());
  const clients = [await createClient(table, "Odd"), await createClient(table, "Even")];
  for (let digit = 1; digit <= count; digit++) {
    const client = clients[(digit + 1) % 2];
    if (client) await createAccount(table, { id: idOf(digit), client, name: `A${digit}`, ownerId: ada }, now);
  }
  const seen = async (
    principal: Principal,
    filter: Parameters<typeof visibleAccounts>[2] = {},
    page = 1,
    size = 100,
  ) => {
    const { items, total } = await visibleAccounts(table, principal, filter, { page, page_size: size }, now);
    return [items.map(({ name }) => name), total];
  };
  return { table, clients, seen };
}

const admin = async ({ table }: Awaited<ReturnType<typeof scene>>) => {
  await table.attempt({ put: { ...userKey("root"), super_admin_grants: ["g"], version: 1 } });
  return user("root");
};

describe("a super admin sees", () => {
  test("all accounts in pages, oldest first, or only the accounts that match a filter", async () => {
    const one = await scene();
    const root = await admin(one);
    const [odd, even] = one.clients;
    await setAccountStatus(one.table, idOf(1), "suspended", now);
    expect(await one.seen(root)).toEqual([["A1", "A2", "A3", "A4"], 4]);
    expect(await one.seen(root, {}, 2, 3)).toEqual([["A4"], 4]);
    expect(await one.seen(root, { client_id: odd?.id })).toEqual([["A1", "A3"], 2]);
    expect(await one.seen(root, { status: "active" })).toEqual([["A2", "A3", "A4"], 3]);
    expect(await one.seen(root, { status: "suspended", client_id: odd?.id })).toEqual([["A1"], 1]);
    expect(await one.seen(root, { status: "suspended", client_id: even?.id })).toEqual([[], 0]);
    expect(await one.seen(root, { status: "nonsense" })).toEqual([[], 0]);
  });
});

describe("a user sees", () => {
  test("the accounts in which the user holds a permission, or only those that match a filter", async () => {
    const { table, seen, clients } = await scene();
    expect(await seen(user("nobody"))).toEqual([[], 0]);
    await setAccountStatus(table, idOf(3), "past_due", now);
    expect(await seen(user(ada), {}, 2, 3)).toEqual([["A4"], 4]);
    expect(await seen(user(ada), { client_id: clients[1]?.id })).toEqual([["A2", "A4"], 2]);
    expect(await seen(user(ada), { status: "past_due" })).toEqual([["A3"], 1]);
    expect(await seen(user(ada), { status: "active" }, 2, 2)).toEqual([["A4"], 3]);
    expect(await seen(user(ada), { status: "nonsense" })).toEqual([[], 0]);
  });

  test("the accounts of the groups in the token too, each account once, in the order of their ids", async () => {
    const { table, seen } = await scene();
    const groups = { g: { grants: [] } };
    const group = "00000000-0000-4000-8000-0000000000aa";
    for (const digit of [1, 2, 3]) {
      await table.attempt({ put: { ...groupsKey(idOf(digit)), groups: { [group]: groups.g }, version: 1 } });
    }
    const names = [3, 1, 2, 4, 9].map((digit) => idpNameOf(idOf(digit), group));
    const bob = user("bob", [...names, "admins", idpNameOf(idOf(1), "00000000-0000-4000-8000-0000000000bb")]);
    expect(await seen(bob)).toEqual([["A1", "A2", "A3"], 3]);
    expect(await seen(bob, {}, 2, 2)).toEqual([["A3"], 3]);
    expect(await seen({ ...bob, id: ada })).toEqual([["A1", "A2", "A3", "A4"], 4]);
    await table.attempt({ put: { ...groupsKey(idOf(1)), groups: {}, version: 2 } });
    expect(await seen(bob)).toEqual([["A2", "A3"], 2]);
  });
});

test("a service account sees its own account, while it holds a permission there", async () => {
  const { table, seen } = await scene();
  const bot: Principal = { type: "service_account", id: "bot", account_id: idOf(2), email: "", groups: [] };
  expect(await seen(bot)).toEqual([[], 0]);
  const key = accessKey(idOf(2), bot);
  await table.attempt({ put: { ...key, grants: [{ id: "g", capability: "ip.view" }], version: 1 } });
  expect(await seen(bot)).toEqual([["A2"], 1]);
  expect(await seen(bot, { status: "suspended" })).toEqual([[], 0]);
});

describe("the status of an account", () => {
  test("decides in which lists the account is, and a change moves the account to other lists", async () => {
    const { table, clients } = await scene(3);
    const listed = async (filter: Parameters<typeof accountsMatching>[0]) => {
      const { rows, total } = await readRows(table, accountsMatching(filter), { skip: 0, take: 10 });
      expect(total).toBe(rows.length);
      return rows.map((row) => Number(String(row["account_id"]).slice(-1)));
    };
    const client_id = clients[0]?.id;
    const all = async () => [
      await listed({}),
      await listed({ client_id }),
      await listed({ status: "active" }),
      await listed({ client_id, status: "active" }),
      await listed({ client_id, status: "suspended" }),
    ];
    expect(await all()).toEqual([[1, 2, 3], [1, 3], [1, 2, 3], [1, 3], []]);
    await setAccountStatus(table, idOf(1), "suspended", now);
    expect(await all()).toEqual([[1, 2, 3], [1, 3], [2, 3], [3], [1]]);
    const { ordinals } = await getAccount(table, idOf(1));
    expect(ordinals).toEqual({
      all: 0,
      [`client/${client_id}`]: 0,
      "status/suspended": 0,
      [`client/${client_id}/status/suspended`]: 0,
    });
    await setAccountStatus(table, idOf(1), "active", now);
    expect(await all()).toEqual([[1, 2, 3], [1, 3], [2, 3, 1], [3, 1], []]);
  });

  test("is stored only if it changes", async () => {
    const { table } = await scene(1);
    const later = new Date(now.getTime() + 1_000);
    expect(await setAccountStatus(table, idOf(1), "active", later)).toMatchObject({ version: 1 });
    expect((await getAccount(table, idOf(1))).updated_at).toBe(now.toISOString());
    await setAccountStatus(table, idOf(1), "suspended", later);
    expect(await getAccount(table, idOf(1))).toMatchObject({ version: 2, updated_at: later.toISOString() });
    const suspended = await getAccount(table, idOf(1));
    await setAccountStatus(table, idOf(1), "suspended", new Date(later.getTime() + 1_000));
    expect(await getAccount(table, idOf(1))).toEqual(suspended);
  });

  test("cannot change once it is `closed`, and a missing account or client is `not_found`", async () => {
    const { table } = await scene(1);
    await setAccountStatus(table, idOf(1), "closed", now);
    await expect(setAccountStatus(table, idOf(1), "active", now)).rejects.toMatchObject({ code: "account_closed" });
    await expect(setAccountStatus(table, idOf(2), "active", now)).rejects.toMatchObject({ code: "not_found" });
    await expect(getClient(table, "nobody")).rejects.toMatchObject({ code: "not_found" });
  });
});

test("`accountIds` returns all accounts, even if one read cannot return them all", async () => {
  const table = openMemoryTable(createMemoryStore());
  const client = await createClient(table, "One");
  const idsOf = async () => {
    const ids: string[] = [];
    for await (const id of accountIds(table)) ids.push(id);
    return ids;
  };
  expect(await idsOf()).toEqual([]);
  const made: string[] = [];
  for (let count = 0; count < 501; count++) {
    made.push((await createAccount(table, { client, name: "A", ownerId: randomUUID() }, now)).id);
    if (count === 499) expect(await idsOf()).toEqual(made);
  }
  expect(await idsOf()).toEqual(made);
});
