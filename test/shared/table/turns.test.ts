import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { closableAt, moveClosing } from "../../../shared/billing/due.ts";
import { createLog } from "../../../shared/core/log.ts";
import { dueWrite, readDue, sweepTasks, type Task } from "../../../shared/table/due.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

/** The turns, from 1, in which the tasks of each account were run. */
async function turnsOf(tasks: { account: string }[], limit: number): Promise<Map<string, number[]>> {
  const turns = new Map<string, number[]>();
  let turn = 0;
  const queued = tasks.map(({ account }): Task => ({
    accountId: account,
    run: async () => void turns.set(account, [...(turns.get(account) ?? []), ++turn]),
  }));
  await sweepTasks(queued, createLog("silent", {}), { limit, atOnce: 1, budgetMs: Infinity });
  return turns;
}

test("an account with 90 % of the tasks, all due first, delays each task of another account by only one task", async () => {
  const loud = Array.from({ length: 900 }, () => ({ account: "loud" }));
  const quiet = Array.from({ length: 100 }, () => ({ account: "quiet" }));
  const turns = await turnsOf([...loud, ...quiet], 500);
  expect(turns.get("quiet")).toEqual(Array.from({ length: 100 }, (_, index) => 2 * (index + 1)));
  expect(turns.get("loud")).toHaveLength(400);
});

test("a loud account does not keep 100 other accounts from having a task done in the first 101 tasks", async () => {
  const loud = Array.from({ length: 900 }, () => ({ account: "loud" }));
  const others = Array.from({ length: 100 }, (_, index) => ({ account: `quiet ${index}` }));
  const turns = await turnsOf([...loud, ...others], 500);
  for (const { account } of others) expect(turns.get(account)?.[0]).toBeLessThanOrEqual(101);
});

test("an account with more due tasks than a run reads hides later tasks of its shard only from some runs", async () => {
  const table = openMemoryTable(createMemoryStore());
  const queue = { name: `TURNS#${randomUUID()}`, shards: 1 };
  const minute = (at: number): string => new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString();
  const loud = Array.from({ length: 90 }, (_, at) => dueWrite(queue, ["loud", `${at}`], minute(at)));
  const quiet = Array.from({ length: 10 }, (_, at) => dueWrite(queue, [`quiet ${at}`, "one"], minute(95 + at)));
  for (const write of [...loud, ...quiet]) await table.attempt(write);
  const seen = new Set<string>();
  // Each run reads the earliest five tasks, which stay due in this test, and five other tasks.
  for (let run = 0; run < 19; run++) {
    const [shard = []] = await readDue(table, queue, new Date(minute(200)), 10);
    expect(shard.slice(0, 5).map(({ at }) => at)).toEqual([0, 1, 2, 3, 4].map(minute));
    for (const { subject } of shard) seen.add(subject.join(" "));
    expect(shard.length).toBeLessThanOrEqual(10);
  }
  expect(seen.size).toBe(100);
});

test("an account of any size is one task of the daily run", () => {
  const account = randomUUID();
  const [before, after] = moveClosing(account, "2026-11-20", "2026-11-21") as [{ delete: object }, { put: object }];
  expect(before.delete).toMatchObject({ SK: `${closableAt("2026-11-20")}#${account}` });
  expect(after.put).toMatchObject({ SK: `${closableAt("2026-11-21")}#${account}` });
});
