import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { hourMs, minuteMs } from "../../../shared/core/time.ts";
import type { Migration } from "../../../shared/migrations/migration.ts";
import { failedAccounts, forgetProgress, readProgress } from "../../../shared/migrations/progress.ts";
import { type MigrationsSwept, sweepMigrations } from "../../../shared/migrations/sweep.ts";
import { rewriteRows } from "../../../shared/table/rewrite.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import { listedAccount } from "../../support/changes.ts";
import { createMemoryStore, everything, openMemoryTable } from "../../support/memory-table.ts";
import { mortal } from "../../support/mortal.ts";

const thingsOf = (accountId: string) => ({ partition: `ACCOUNT#${accountId}`, from: "THING#", to: "THING#~" });

const colourOf = (row: Item) => (row["colour"] === undefined ? { colour: "red" } : undefined);

const colours: Migration = {
  name: "colours",
  summary: "Gives things a colour.",
  migrate: (accountId, { table }) => rewriteRows(table, thingsOf(accountId), colourOf),
};

/** A new table with accounts and a clock. Each account has a row that an earlier version stored. */
async function newScene(count: number) {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  const clock = { at: new Date("2026-12-01T00:00:00Z") };
  const now = (): Date => clock.at;
  const logged: Record<string, unknown>[] = [];
  const log = { debug: () => undefined, info: () => undefined, error: (_: string, all = {}) => void logged.push(all) };
  const addAccount = async (): Promise<string> => {
    const id = await listedAccount(table);
    await table.attempt({ put: { PK: `ACCOUNT#${id}`, SK: "THING#1", version: 1, size: 7 } });
    return id;
  };
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(await addAccount());
  const sweepBy = (by: Table, bounds = {}): Promise<MigrationsSwept> =>
    sweepMigrations({ table: by, now, log, requestId: randomUUID() }, { migrations: [colours], ...bounds });
  return {
    store,
    table,
    ids,
    logged,
    addAccount,
    pass: (ms: number) => void (clock.at = new Date(clock.at.getTime() + ms)),
    sweepBy,
    sweep: (bounds = {}) => sweepBy(table, bounds),
    progress: async (migration = colours) => (await readProgress(table, [migration]))[0],
    things: () => everything(store).filter(({ SK }) => SK.startsWith("THING#")),
  };
}

/** A scene in which a worker saw the migration an hour ago, so that the next run begins it. */
const dueScene = async (count: number) => {
  const scene = await newScene(count);
  await scene.sweep();
  scene.pass(hourMs);
  return scene;
};

test("a migration begins an hour after a worker first sees it, goes through all accounts, and is finished", async () => {
  const { sweep, pass, things, progress } = await newScene(5);
  for (let minute = 0; minute < 60; minute++) {
    expect(await sweep()).toEqual({ accounts: 0, failed: 0, rows: 0, unfinished: 1 });
    pass(minuteMs);
  }
  expect(things().some(({ colour }) => colour === "red")).toBe(false);
  expect(await sweep()).toEqual({ accounts: 5, failed: 0, rows: 5, unfinished: 0 });
  expect(things()).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ colour: "red", size: 7 })));
  expect(await progress()).toMatchObject({
    seen_at: "2026-12-01T00:00:00.000Z",
    started_at: "2026-12-01T01:00:00.000Z",
    finished_at: "2026-12-01T01:00:00.000Z",
    accounts: 5,
    rows: 5,
  });
});

test("finished migrations cost one read in a run, and write nothing", async () => {
  const { sweep, sweepBy, table, store } = await dueScene(3);
  await sweep();
  const before = everything(store);
  expect(await sweepBy(mortal(table, 1))).toEqual({ accounts: 0, failed: 0, rows: 0, unfinished: 0 });
  expect(everything(store)).toEqual(before);
});

test("a run stops after its maximum of accounts, the next run continues there, and new accounts are migrated too", async () => {
  const { sweep, addAccount, things, progress } = await dueScene(7);
  expect(await sweep({ most: 3, pageSize: 2, atOnce: 1 })).toMatchObject({ accounts: 3, unfinished: 1 });
  expect(await progress()).toMatchObject({ accounts: 3, rows: 3 });
  await addAccount();
  expect(await sweep({ budgetMs: -1 })).toMatchObject({ accounts: 0, unfinished: 1 });
  expect(await sweep()).toMatchObject({ accounts: 5, rows: 5, unfinished: 0 });
  expect(things().filter(({ version }) => version === 2)).toHaveLength(8);
});

test("a migration that is restarted begins again with the first account, and changes no row twice", async () => {
  const { sweep, pass, table, things, progress } = await dueScene(3);
  await sweep();
  const before = things();
  expect(await forgetProgress(table, colours.name)).toBe(true);
  expect(await forgetProgress(table, colours.name)).toBe(false);
  await sweep();
  pass(hourMs);
  expect(await sweep()).toMatchObject({ accounts: 3, rows: 0 });
  expect(await progress()).toMatchObject({ accounts: 3, rows: 0, finished_at: expect.any(String) });
  expect(things()).toEqual(before);
});

test("an account that fails is recorded, stops no other account or migration, and is tried again after an hour", async () => {
  const { sweep, pass, ids, table, logged, progress } = await newScene(4);
  const [, bad = ""] = ids;
  let isBroken = true;
  const flaky: Migration = {
    ...colours,
    name: "flaky",
    migrate: async (accountId, context) => {
      if (isBroken && accountId === bad) throw new TypeError("secret@example.com");
      await colours.migrate(accountId, context);
    },
  };
  const migrations = [flaky, { ...colours, name: "after" }];
  await sweep({ migrations });
  pass(hourMs);
  expect(await sweep({ migrations })).toEqual({ accounts: 8, failed: 1, rows: 4, unfinished: 1 });
  expect(await progress(flaky)).toMatchObject({ accounts: 4, rows: 3 });
  expect((await progress(flaky))?.finished_at).toBeUndefined();
  const [failed, ...others] = await failedAccounts(table, "flaky");
  expect([failed, others]).toEqual([
    expect.objectContaining({ account_id: bad, error: "TypeError", failed_at: "2026-12-01T01:00:00.000Z" }),
    [],
  ]);
  expect(JSON.stringify(failed)).not.toContain("secret");
  expect(logged).toEqual([{ account_id: bad, migration: "flaky", error: "TypeError: secret@example.com" }]);
  pass(59 * minuteMs);
  expect(await sweep({ migrations })).toMatchObject({ accounts: 0, unfinished: 1 });
  pass(minuteMs);
  expect(await sweep({ migrations })).toMatchObject({ accounts: 1, failed: 1 });
  isBroken = false;
  pass(hourMs);
  expect(await sweep({ migrations })).toEqual({ accounts: 1, failed: 0, rows: 0, unfinished: 0 });
  expect(await progress(flaky)).toMatchObject({ accounts: 4, finished_at: "2026-12-01T03:00:00.000Z" });
  expect(await failedAccounts(table, "flaky")).toEqual([]);
});

test("a migration that has failed in 100 accounts is not tried in other accounts", async () => {
  const { sweep, pass, progress, table } = await newScene(130);
  const broken: Migration = { ...colours, name: "broken", migrate: async () => Promise.reject(new Error("wrong")) };
  await sweep({ migrations: [broken] });
  pass(hourMs);
  for (let run = 0; run < 3; run++) {
    await sweep({ migrations: [broken] });
    expect(await progress(broken)).toMatchObject({ accounts: 100 });
    expect(await failedAccounts(table, "broken")).toHaveLength(100);
    pass(hourMs);
  }
});

test("of two concurrent runs one does nothing, and a run that has lost its claim stores no progress", async () => {
  const { sweep, pass, things, progress, ids } = await newScene(4);
  const met: MigrationsSwept[] = [];
  let isFirst = true;
  const meeting: Migration = {
    ...colours,
    migrate: async (accountId, context) => {
      if (accountId === ids[0] && isFirst) {
        isFirst = false;
        met.push(await sweep({ migrations: [meeting] }));
        // The claim of the first run ends after six minutes.
        pass(7 * minuteMs);
        met.push(await sweep({ migrations: [meeting] }));
      }
      await colours.migrate(accountId, context);
    },
  };
  await sweep({ migrations: [meeting] });
  pass(hourMs);
  expect(await sweep({ migrations: [meeting], pageSize: 1, atOnce: 1 })).toMatchObject({ accounts: 1, rows: 0 });
  expect(met).toEqual([
    { accounts: 0, failed: 0, rows: 0, unfinished: 1 },
    { accounts: 4, failed: 0, rows: 4, unfinished: 0 },
  ]);
  expect(await progress()).toMatchObject({ accounts: 4, rows: 4 });
  expect(things().map(({ version }) => version)).toEqual([2, 2, 2, 2]);
});

test("if a process dies after any call, the next run continues, and every row is changed once", async () => {
  const { table, sweepBy, pass, things, progress } = await dueScene(6);
  for (let calls = 0; (await progress())?.finished_at === undefined; calls = (calls + 1) % 20) {
    await sweepBy(mortal(table, calls), { pageSize: 2 }).catch(() => undefined);
    pass(7 * minuteMs);
  }
  expect(things().map(({ version, colour }) => [version, colour])).toEqual(Array.from({ length: 6 }, () => [2, "red"]));
  expect(await progress()).toMatchObject({ accounts: 6 });
});

test("a row that changes between its read and its write is read again, and a deleted row stays deleted", async () => {
  const key = { PK: "ACCOUNT#1", SK: "THING#1" };
  const changes: ((table: Table) => Promise<unknown>)[] = [
    (table) => table.attempt({ update: key, set: { size: 8, version: 2 }, if: { version: 1 } }),
    (table) => table.attempt({ update: key, set: { colour: "blue", version: 2 }, if: { version: 1 } }),
    (table) => table.attempt({ delete: key }),
  ];
  const results: unknown[] = [];
  for (const change of changes) {
    const store = createMemoryStore();
    const other = openMemoryTable(store);
    await other.attempt({ put: { ...key, version: 1, size: 7 } });
    let isChanged = false;
    const step = async (point: string) => {
      if (point.startsWith("write") && !isChanged) {
        isChanged = true;
        await change(other);
      }
      return undefined;
    };
    await rewriteRows(openMemoryTable(store, { step }), thingsOf("1"), colourOf);
    results.push(everything(store));
  }
  expect(results).toEqual([
    [{ ...key, size: 8, colour: "red", version: 3 }],
    [{ ...key, size: 7, colour: "blue", version: 2 }],
    [],
  ]);
});

test("`rewriteRows` rewrites all rows of a range, even of several pages, and no row outside the range", async () => {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  for (let index = 0; index < 1_001; index++)
    await table.attempt({ put: { PK: "ACCOUNT#1", SK: `THING#${index}`, version: 1 } });
  for (const SK of ["THING", "THINGS#1"]) await table.attempt({ put: { PK: "ACCOUNT#1", SK, version: 1 } });
  await rewriteRows(table, thingsOf("1"), colourOf);
  const rows = everything(store);
  expect(rows.filter(({ colour }) => colour === "red")).toHaveLength(1_001);
  expect(rows.filter(({ colour }) => colour === undefined).map(({ SK }) => SK)).toEqual(["THING", "THINGS#1"]);
});
