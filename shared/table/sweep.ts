import type { Log } from "../core/log.ts";
import { inParallel } from "../core/parallel.ts";
import { inTurns } from "../core/turns.ts";
import { readDue, type Queue } from "./due.ts";
import type { Reader } from "./table.ts";

export type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** How much was due, how much of it was done, and how much could not be. */
export type Swept = { due: number; done: number; failed: number };

/** Something that is due of an account. */
export type Task = { accountId: string; run: () => Promise<void> };

type Work = { table: Reader; now: () => Date };

/** What is due in a queue whose places are an account and a thing of it, the earliest first. */
export async function dueTasks<W extends Work>(
  queue: Queue,
  one: (accountId: string, id: string, at: string, work: W) => Promise<void>,
  work: W,
): Promise<Task[]> {
  const shards = await readDue(work.table, queue, work.now());
  return shards
    .flat()
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ at, place: [accountId = "", id = ""] }) => ({ accountId, run: () => one(accountId, id, at, work) }));
}

/**
 * Does tasks in turns over the accounts: up to `limit`, `atOnce` at the same time, and none is begun after `budgetMs`.
 * What fails is logged and stays due.
 */
export async function sweepTasks(tasks: readonly Task[], log: Log, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const some = inTurns(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await inParallel(some, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}
