import { expect, onTestFinished, test, vi } from "vitest";

import { createLog } from "../../../shared/core/log.ts";
import { dueTasks, readDue, sweepTasks, type Task } from "../../../shared/table/due.ts";
import type { Reader } from "../../../shared/table/table.ts";

const log = createLog("silent", {});
const now = new Date("2026-03-01T00:00:00.000Z");

/** Tasks that the test ends itself. `begun` has a function to end each task that was begun. */
function slowTasks(count: number) {
  const begun: (() => void)[] = [];
  const run = () => new Promise<void>((end) => void begun.push(end));
  const tasks: Task[] = Array.from({ length: count }, (_, index) => ({ accountId: `a${index}`, run }));
  return { tasks, begun };
}

const idle = () => new Promise((done) => setImmediate(done));

/** A queue with these sort keys in its shards, and how the queue was read. */
function shardsOf(keys: readonly string[][]) {
  const seen = { ranges: [] as unknown[], atOnce: 0, most: 0 };
  const between: Reader["between"] = async (partition, from, to, options) => {
    seen.ranges.push([from, to, options]);
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    await idle();
    seen.atOnce -= 1;
    const shard = Number(partition.split("#").at(-1));
    if (keys[shard]?.[0] === "down") throw new Error("the shard cannot be read");
    return (keys[shard] ?? []).map((SK) => ({ PK: partition, SK }));
  };
  return { table: { between } as Reader, seen };
}

test("ten tasks run at a time, unless `atOnce` is another number", async () => {
  for (const [bounds, most] of [
    [undefined, 10],
    [{ atOnce: 3 }, 3],
  ] as const) {
    const { tasks, begun } = slowTasks(12);
    const swept = sweepTasks(tasks, log, bounds);
    await idle();
    expect(begun).toHaveLength(most);
    while (begun.length > 0) {
      for (const end of begun.splice(0)) end();
      await idle();
    }
    expect(await swept).toEqual({ due: 12, done: 12, failed: 0 });
  }
});

test("one sweep runs at most 500 tasks, unless `limit` is another number, and the accounts take turns", async () => {
  const order: string[] = [];
  const tasksOf = (accountId: string, count: number): Task[] =>
    Array.from({ length: count }, () => ({ accountId, run: async () => void order.push(accountId) }));
  const tasks = [...tasksOf("a", 501), ...tasksOf("b", 2)];
  expect(await sweepTasks(tasks, log)).toEqual({ due: 503, done: 500, failed: 0 });
  expect(order.slice(0, 5)).toEqual(["a", "b", "a", "b", "a"]);
  expect(await sweepTasks(tasks, log, { limit: 2 })).toEqual({ due: 503, done: 2, failed: 0 });
});

test("no task is begun after 40 seconds, unless `budgetMs` is another time", async () => {
  let atMs = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => atMs);
  onTestFinished(() => clock.mockRestore());
  const lasting = (ms: number): Task => ({ accountId: "a", run: async () => void (atMs += ms) });
  const one = { atOnce: 1 };
  const three = [lasting(40_000), lasting(1), lasting(1)];
  expect(await sweepTasks(three, log, one)).toEqual({ due: 3, done: 2, failed: 0 });
  expect(await sweepTasks([lasting(5), lasting(1), lasting(1)], log, { ...one, budgetMs: 5 })).toMatchObject({
    done: 2,
  });
});

test("a task that fails is logged, and the other tasks are run", async () => {
  const told: unknown[] = [];
  const run = async () => Promise.reject(new Error("no"));
  const tasks = [
    { accountId: "a", run },
    { accountId: "b", run: async () => undefined },
  ];
  const noting = { ...log, error: (message: string, more?: object) => void told.push([message, more]) };
  expect(await sweepTasks(tasks, noting)).toEqual({ due: 2, done: 1, failed: 1 });
  expect(told).toEqual([["not done", { reason: "Error: no" }]]);
});

test("due tasks are read from eight shards at a time, at first the 5,000 earliest tasks of each shard", async () => {
  const { table, seen } = shardsOf([]);
  expect(await readDue(table, { name: "Q", shards: 20 }, now)).toHaveLength(20);
  expect(seen.most).toBe(8);
  expect(seen.ranges[0]).toEqual(["!", `${now.toISOString()}~`, { limit: 5_000 }]);
});

test("if a shard cannot be read, `readDue` throws, because the tasks of the shard would look done", async () => {
  const { table } = shardsOf([[], ["down"]]);
  await expect(readDue(table, { name: "Q", shards: 3 }, now)).rejects.toThrow("the shard cannot be read");
});

test("due tasks are in the order of their due times, and tasks of the same time in the order of their shards", async () => {
  const [early, late] = ["2026-02-01T00:00:00.000Z", "2026-02-02T00:00:00.000Z"];
  const { table } = shardsOf([[`${late}#a#1`, `${late}#a#2`], [`${early}#b#3`, `${late}#b#4`], [`${late}#c`]]);
  const done: unknown[] = [];
  const one = async (accountId: string, id: string, at: string) => void done.push([at, accountId, id]);
  const tasks = await dueTasks({ name: "Q", shards: 3 }, one, { table, now: () => now });
  for (const { run } of tasks) await run();
  expect(done).toEqual([
    [early, "b", "3"],
    [late, "a", "1"],
    [late, "a", "2"],
    [late, "b", "4"],
    [late, "c", ""],
  ]);
  expect(tasks.map(({ accountId }) => accountId)).toEqual(["b", "a", "a", "b", "c"]);
});
