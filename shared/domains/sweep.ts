import { inParallel } from "../parallel.ts";
import { forgetDue, readDue, type Queue } from "../table/due.ts";
import { inTurns } from "../turns.ts";
import { syncZone } from "../zones/sync.ts";
import { getZone, zoneDueKey, zoneKey, zoneQueue, type StoredZone } from "../zones/zone.ts";
import { advanceDomain } from "./advance.ts";
import { continueBatch } from "./continue-batch.ts";
import { batchQueue, domainQueue } from "./queues.ts";
import type { DomainWork } from "./work.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** How much was due, how much of it was done, and how much could not be. */
export type Swept = { due: number; done: number; failed: number };

type Task = { accountId: string; run: () => Promise<void> };

/**
 * Does what is due of purchases, domains and zones, in turns over the accounts: up to `limit` in a run, `atOnce` at
 * the same time, and none is begun after `budgetMs`. What fails is logged and stays due.
 */
export async function sweepDomains(work: DomainWork, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const tasks = (await Promise.all([batchTasks(work), domainTasks(work), zoneTasks(work)])).flat();
  const some = inTurns(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await inParallel(some, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) work.log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}

async function dueIn({ table, now }: DomainWork, queue: Queue) {
  const shards = await readDue(table, queue, now());
  return shards.flat().toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}

async function batchTasks(work: DomainWork): Promise<Task[]> {
  const due = await dueIn(work, batchQueue);
  return due.map(({ at, place: [accountId = "", batchId = ""] }) => ({
    accountId,
    run: () => continueBatch(accountId, batchId, at, work),
  }));
}

async function domainTasks(work: DomainWork): Promise<Task[]> {
  const due = await dueIn(work, domainQueue);
  return due.map(({ at, place: [accountId = "", id = ""] }) => ({
    accountId,
    run: () => advanceDomain(accountId, id, at, work),
  }));
}

async function zoneTasks(work: DomainWork): Promise<Task[]> {
  const due = await dueIn(work, zoneQueue);
  return due.map(({ at, place: [accountId = "", id = ""] }) => ({
    accountId,
    run: () => bringUp(accountId, id, at, work),
  }));
}

/** Brings a zone up to date, or forgets that it was due when it is no more, or was due at another time. */
async function bringUp(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const zone = await getZone(work.table, accountId, id);
  if (isDue(zone, at)) return void (await syncZone(accountId, id, work));
  await forgetDue(work.table, zoneDueKey(zone ?? { account_id: accountId, domain_id: id }, at), async () => {
    const current = await getZone(work.table, accountId, id);
    const unchanged = current ? { revision: current.revision, lease_until: current.lease_until } : ("absent" as const);
    return { isDue: isDue(current, at), unchanged: { check: zoneKey(accountId, id), if: unchanged } };
  });
}

const isDue = (zone: StoredZone | undefined, at: string): boolean => zone?.wanted === true && zone.due_at === at;
