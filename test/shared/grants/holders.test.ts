import { describe, expect, test } from "vitest";

import { accountsOfUser } from "../../../shared/accounts/account.ts";
import { accessKey, groupsKey } from "../../../shared/accounts/standing.ts";
import type { HeldGrant } from "../../../shared/auth/permissions.ts";
import {
  groupsWrite,
  planForgotten,
  planHolders,
  planOwnerAdded,
  planOwnerRemoved,
  planSuperAdmin,
  readGroups,
  readHeld,
  superAdminGrants,
  type Held,
  type HolderChange,
  type Subject,
} from "../../../shared/grants/holders.ts";
import { readRows } from "../../../shared/table/ranked-list.ts";
import type { Write } from "../../../shared/table/writes.ts";
import { createMemoryStore, everything, openMemoryTable } from "../../support/memory-table.ts";

const account = "account";
const user: Subject = { type: "user", id: "ada" };
const program: Subject = { type: "service_account", id: "bot" };
const group = (id: string): Subject => ({ type: "group", id });

const grant = (id: string): HeldGrant => ({ id, capability: "ip.view" });
const many = (count: number): HeldGrant[] => Array.from({ length: count }, (_, index) => grant(String(index)));
const set = (subject: Subject, held: Partial<Held>, more: { forget?: true } = {}): HolderChange => ({
  subject,
  change: (before) => ({ ...before, ...held }),
  ...more,
});

/** A new table with a service account, and with the group `inner` inside the group `outer`. */
async function scene() {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  const write = (plan: () => Promise<Write[]>) =>
    table.commit(async () => {
      const writes = await plan();
      return { value: writes.length, writes };
    });
  const groups = { outer: { grants: [] }, inner: { grants: [], parent_id: "outer" } };
  await write(async () => [groupsWrite(account, await readGroups(table, account), groups)]);
  const record = { ...accessKey(account, program), grants: [], groups: [], version: 1 };
  await table.attempt({ put: record });
  return {
    store,
    table,
    write,
    change: (...changes: HolderChange[]) => write(() => planHolders(table, account, changes)),
    held: (subject: Subject) => readHeld(table, account, subject),
    accounts: async () => (await readRows(table, accountsOfUser(user.id), { skip: 0, take: 10 })).rows.length,
  };
}

const limitReached = { code: "limit_reached" };

describe("the access record of a user", () => {
  test("is one record for all changes, and puts the account on the user's list once", async () => {
    const { change, held, accounts } = await scene();
    expect(await held(user)).toBeUndefined();
    const add = (id: string): HolderChange => ({
      subject: user,
      change: (before) => ({ ...before, grants: [...before.grants, grant(id)] }),
    });
    await change(add("a"), add("b"));
    await change(add("c"));
    expect(await held(user)).toMatchObject({ grants: [grant("a"), grant("b"), grant("c")], groups: [], version: 2 });
    expect(await accounts()).toBe(1);
  });

  test("is deleted once it is empty, and the account leaves the user's list", async () => {
    const { change, held, accounts, table } = await scene();
    expect(await change(set(user, {}))).toBe(0);
    for (const something of [{ grants: [grant("a")] }, { groups: ["inner"] }, { owner_grant_id: "o" }]) {
      await change(set(user, { grants: [], groups: [], ...something }));
      expect([await accounts(), await held(user)]).toMatchObject([1, something]);
      await change({ subject: user, change: () => ({ grants: [], groups: [] }) });
      expect([await accounts(), await held(user)]).toEqual([0, undefined]);
    }
    // A record of an earlier version does not have its place in the list.
    await table.attempt({ put: { ...accessKey(account, user), grants: [grant("a")], version: 3 } });
    await change(set(user, { grants: [] }));
    expect(await held(user)).toBeUndefined();
  });

  test("has at most 1,000 grants and 1,000 groups", async () => {
    const { change, held } = await scene();
    const groups = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`);
    await change(set(user, { grants: many(1_000), groups: groups(1_000) }));
    await expect(change(set(user, { grants: many(1_001) }))).rejects.toMatchObject(limitReached);
    await expect(change(set(user, { groups: groups(1_001) }))).rejects.toMatchObject(limitReached);
    expect((await held(user))?.grants).toHaveLength(1_000);
  });

  test("is planned again if it has changed since the plan read it", async () => {
    const { change, table, held, store } = await scene();
    await change(set(user, { grants: [grant("a")] }));
    let isFirst = true;
    await table.commit(async () => {
      const writes = await planHolders(table, account, [set(user, { groups: ["inner"] })]);
      if (isFirst) await change(set(user, { grants: [grant("b")] }));
      isFirst = false;
      return { value: undefined, writes };
    });
    expect(await held(user)).toMatchObject({ grants: [grant("b")], groups: ["inner"], version: 3 });
    expect(everything(store).filter(({ SK }) => SK.startsWith("ACCESS#user"))).toHaveLength(1);
  });
});

describe("the access record of a service account", () => {
  test("is kept without grants, is deleted by `forget` once it is empty, and is in no list of accounts", async () => {
    const { change, held, table } = await scene();
    await change(set(program, { grants: [grant("a")] }));
    await change(set(program, { grants: [] }));
    expect(await held(program)).toMatchObject({ grants: [], version: 3 });
    await change(set(program, { grants: [grant("a")] }, { forget: true }));
    expect(await held(program)).toMatchObject({ grants: [grant("a")] });
    await change(set(program, { grants: [] }), set(program, {}, { forget: true }));
    expect(await held(program)).toBeUndefined();
    expect((await readRows(table, accountsOfUser(program.id), { skip: 0, take: 1 })).total).toBe(0);
  });

  test("cannot be changed for a missing service account", async () => {
    const { change } = await scene();
    const gone = { ...program, id: "gone" };
    await expect(change(set(gone, { grants: [grant("a")] }))).rejects.toMatchObject({ code: "not_found" });
  });

  test("is deleted by `planForgotten` only if it is empty", async () => {
    const { change, held, table, write } = await scene();
    await change(set(program, { owner_grant_id: "o" }));
    expect(await write(() => planForgotten(table, account, program))).toBe(0);
    await change({ subject: program, change: () => ({ grants: [], groups: [] }) });
    expect(await write(() => planForgotten(table, account, program))).toBe(1);
    expect(await held(program)).toBeUndefined();
    expect(await write(() => planForgotten(table, account, program))).toBe(0);
  });
});

describe("the grants of groups", () => {
  test("are in one record, which keeps the parents of the groups", async () => {
    const { change, held, table } = await scene();
    await change(set(group("inner"), { grants: [grant("a")] }), set(group("outer"), { owner_grant_id: "o" }));
    expect(await readGroups(table, account)).toEqual({
      groups: {
        outer: { grants: [], owner_grant_id: "o" },
        inner: { grants: [grant("a")], parent_id: "outer" },
      },
      version: 2,
    });
    expect(await held(group("inner"))).toEqual({ grants: [grant("a")], groups: [], parent_id: "outer" });
    await change({ subject: group("inner"), change: () => ({ grants: [grant("b")], groups: [] }) });
    expect(await held(group("inner"))).toEqual({ grants: [grant("b")], groups: [], parent_id: "outer" });
  });

  test("cannot be given to a missing group", async () => {
    const { change, held } = await scene();
    for (const id of ["gone", "toString"]) {
      expect(await held(group(id))).toBeUndefined();
      await expect(change(set(group(id), { grants: [grant("a")] }))).rejects.toMatchObject({ code: "not_found" });
    }
  });

  test("are at most 1,000 for one group, but a group of an earlier version keeps more", async () => {
    const { change, held, table } = await scene();
    await change(set(group("inner"), { grants: many(1_000) }));
    await expect(change(set(group("inner"), { grants: many(1_001) }))).rejects.toMatchObject(limitReached);
    const { groups, version } = await readGroups(table, account);
    const earlier = { ...groups, outer: { grants: many(1_002) } };
    await table.attempt({ put: { ...groupsKey(account), groups: earlier, version: version + 1 } });
    await expect(change(set(group("outer"), { grants: many(1_003) }))).rejects.toMatchObject(limitReached);
    const others = many(1_002).map((one) => ({ ...one, expires_at: "2031-01-01T00:00:00.000Z" }));
    for (const grants of [others, many(1_001)]) {
      await change(set(group("outer"), { grants }));
      expect((await held(group("outer")))?.grants).toEqual(grants);
    }
  });

  test("are at most 300,000 bytes for all groups of an account", () => {
    const bytes = (count: number) => ({ g: { grants: [], parent_id: "ä".repeat(count) } });
    const frame = JSON.stringify(bytes(0)).length;
    const fits = (300_000 - frame) / 2;
    expect(Number.isInteger(fits)).toBe(true);
    expect(groupsWrite(account, { groups: {}, version: 0 }, bytes(fits))).toMatchObject({ if: "absent" });
    expect(groupsWrite(account, { groups: {}, version: 4 }, bytes(fits))).toMatchObject({
      put: { ...groupsKey(account), version: 5 },
      if: { version: 4 },
    });
    const over = { g: { grants: [], parent_id: `${"ä".repeat(fits)}a` } };
    expect(() => groupsWrite(account, { groups: {}, version: 0 }, over)).toThrow(expect.objectContaining(limitReached));
  });
});

describe("the owners of an account", () => {
  test("are listed once each, and the last owner cannot be removed", async () => {
    const { table, write } = await scene();
    const add = (id: string) => write(async () => [await planOwnerAdded(table, account, id)]);
    const remove = (id: string) => write(async () => [await planOwnerRemoved(table, account, id)]);
    await expect(remove("a")).rejects.toMatchObject({ code: "last_owner" });
    for (const id of ["a", "b", "a"]) await add(id);
    await remove("a");
    await expect(remove("b")).rejects.toMatchObject({ code: "last_owner" });
    await add("a");
    await remove("b");
    await expect(remove("a")).rejects.toMatchObject({ code: "last_owner" });
  });

  test("are at most 1,000", async () => {
    const { table } = await scene();
    const user_ids = Array.from({ length: 999 }, (_, index) => `u${index}`);
    await table.attempt({ put: { PK: `ACCOUNT#${account}`, SK: "OWNERS", user_ids, version: 7 } });
    const write = await planOwnerAdded(table, account, "last");
    expect(write).toMatchObject({ put: { version: 8 }, if: { version: 7 } });
    await table.attempt(write);
    await expect(planOwnerAdded(table, account, "more")).rejects.toMatchObject(limitReached);
    expect(await planOwnerAdded(table, account, "last")).toMatchObject({ put: { version: 9 } });
  });
});

test("the grants that make a user a super admin are listed in the order of their addition", async () => {
  const { table, write } = await scene();
  const change = (to: (grants: string[]) => string[]) => write(async () => [await planSuperAdmin(table, user.id, to)]);
  expect(await superAdminGrants(table, user.id)).toEqual([]);
  await change((grants) => [...grants, "a"]);
  await change((grants) => [...grants, "b"]);
  expect(await superAdminGrants(table, user.id)).toEqual(["a", "b"]);
  expect(await planSuperAdmin(table, user.id, () => [])).toMatchObject({ put: { version: 3 }, if: { version: 2 } });
});
