import { expect, test } from "vitest";

import { createLog } from "../../../shared/core/log.ts";
import { sweepTasks, type Task } from "../../../shared/table/due.ts";

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

test("an account with 90 % of the due work, all of it due first, delays another's by one task in each turn", async () => {
  const loud = Array.from({ length: 900 }, () => ({ account: "loud" }));
  const quiet = Array.from({ length: 100 }, () => ({ account: "quiet" }));
  const turns = await turnsOf([...loud, ...quiet], 500);
  expect(turns.get("quiet")).toEqual(Array.from({ length: 100 }, (_, index) => 2 * (index + 1)));
  expect(turns.get("loud")).toHaveLength(400);
});

test("with a hundred accounts beside the loud one, each has its first task done in the first round", async () => {
  const loud = Array.from({ length: 900 }, () => ({ account: "loud" }));
  const others = Array.from({ length: 100 }, (_, index) => ({ account: `quiet ${index}` }));
  const turns = await turnsOf([...loud, ...others], 500);
  for (const { account } of others) expect(turns.get(account)?.[0]).toBeLessThanOrEqual(101);
});
