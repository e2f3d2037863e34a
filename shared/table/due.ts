import { createHash } from "node:crypto";

import { mapConcurrently, roundRobin } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import type { Reader, Table } from "./table.ts";
import type { Key, Write } from "./writes.ts";

/*
 * Queues of work that is due at an instant. Each waiting thing has one item here, which the transactions that change
 * the thing write and move, so that a process that dies loses nothing. All items of an account are in one shard, so
 * that its backlog delays few others.
 *
 * Access patterns
 *   what is due by an instant   <queue>#<shard> / <due time>#<account id>#<rest of its place>
 */
/** `shards` is at most 256. */
export type Queue = { name: string; shards: number };

/** The place of a thing: its account, and the names that identify it there. */
export type Place = readonly [accountId: string, ...names: string[]];

/** Work that is never done is deleted after this time. */
const keptSeconds = 400 * 86_400;

const partition = ({ name }: Queue, shard: number): string => `${name}#${shard}`;

const shardOf = ({ shards }: Queue, accountId: string): number =>
  createHash("sha256").update(accountId).digest().readUInt8(0) % shards;

/** The key of a thing that is due at an instant (RFC 3339, UTC, milliseconds). */
export const dueKey = (queue: Queue, place: Place, at: string): Key => ({
  PK: partition(queue, shardOf(queue, place[0])),
  SK: [at, ...place].join("#"),
});

/** The write that makes a thing due at an instant. */
export const dueWrite = (queue: Queue, place: Place, at: string): Write => ({
  put: { ...dueKey(queue, place, at), ttl: Math.ceil(Date.parse(at) / 1_000) + keptSeconds },
});

/** The writes that move a thing from one instant to another; null stands for not being in the queue. */
export const moveDue = (queue: Queue, place: Place, from: string | null, to: string | null): Write[] =>
  from === to
    ? []
    : [
        ...(from === null ? [] : [{ delete: dueKey(queue, place, from) }]),
        ...(to === null ? [] : [dueWrite(queue, place, to)]),
      ];

/** The number of places that are read of one shard. Each has some 200 bytes. */
const shardLimit = 10_000;
const shardsAtOnce = 8;

/** Reads the due places of each shard, the earliest first, at most 10,000 of each shard. */
export async function readDue(
  table: Reader,
  queue: Queue,
  now: Date,
): Promise<{ at: string; place: readonly string[] }[][]> {
  const until = `${now.toISOString()}~`;
  const shards = Array.from({ length: queue.shards }, (_, shard) => shard);
  const read = await mapConcurrently(shards, shardsAtOnce, (shard) =>
    table.between(partition(queue, shard), "!", until, { limit: shardLimit }),
  );
  return read.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value.map(({ SK }) => {
      const [at = "", ...place] = SK.split("#");
      return { at, place };
    });
  });
}

/**
 * Takes a place out of its queue if nothing is due there any more. `look` says whether something still is, and gives
 * the write that fails the transaction if the thing has changed since.
 */
export const forgetDue = (
  table: Table,
  due: Key,
  look: () => Promise<{ isDue: boolean; unchanged: Write }>,
): Promise<void> =>
  table.commit(async () => {
    const { isDue, unchanged } = await look();
    return { value: undefined, writes: isDue ? [] : [{ delete: due }, unchanged] };
  });

export type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** The numbers of tasks that were due, that were done and that failed. */
export type Swept = { due: number; done: number; failed: number };

/** A task that is due, and its account. */
export type Task = { accountId: string; run: () => Promise<void> };

type Work = { table: Reader; now: () => Date };

/** Reads the due tasks of a queue whose places consist of an account and one id, the earliest first. */
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
 * Runs tasks in turns over the accounts, up to `limit` of them, `atOnce` at the same time.
 * - No task is started after `budgetMs`.
 * - A task that fails is logged and stays due.
 */
export async function sweepTasks(tasks: readonly Task[], log: Log, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const some = roundRobin(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await mapConcurrently(some, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}
