import { inParallel } from "../parallel.ts";
import { dueKey, forgetDue, readDue, type Queue } from "../table/due.ts";
import { inTurns } from "../turns.ts";
import { advanceIp } from "./advance.ts";
import { operationKey, readOperation } from "./operation.ts";
import { ipQueue, operationQueue } from "./queues.ts";
import { carryOn } from "./settle.ts";
import { systemMover, type IpWork } from "./work.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** How much was due, how much of it was done, and how much could not be. */
export type Swept = { due: number; done: number; failed: number };

type Task = { accountId: string; run: () => Promise<void> };

/**
 * Does what is due of dedicated IPs and of assignments that were left, in turns over the accounts: up to `limit` in a
 * run, `atOnce` at the same time, and none is begun after `budgetMs`. What fails is logged and stays due.
 */
export async function sweepIps(work: IpWork, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const tasks = [...(await tasksIn(operationQueue, carryOnOne, work)), ...(await tasksIn(ipQueue, advanceIp, work))];
  const some = inTurns(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await inParallel(some, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) work.log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}

type One = (accountId: string, id: string, at: string, work: IpWork) => Promise<void>;

async function tasksIn(queue: Queue, one: One, work: IpWork): Promise<Task[]> {
  const shards = await readDue(work.table, queue, work.now());
  return shards
    .flat()
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ at, place: [accountId = "", id = ""] }) => ({ accountId, run: () => one(accountId, id, at, work) }));
}

/** Goes on with an assignment that was left, or forgets that it was due when it is over. */
export async function carryOnOne(accountId: string, id: string, at: string, work: IpWork): Promise<void> {
  const { table } = work;
  const operation = await readOperation(table, accountId, id);
  if (operation?.due_at === at) return carryOn(operation, systemMover(work, accountId));
  await forgetDue(table, dueKey(operationQueue, [accountId, id], at), async () => {
    const current = await readOperation(table, accountId, id);
    return {
      isDue: current?.due_at === at,
      unchanged: { check: operationKey(accountId, id), if: current ? { id: current.id } : "absent" },
    };
  });
}
