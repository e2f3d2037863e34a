import { createHash } from "node:crypto";

import { mapConcurrently, roundRobin } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import type { Reader, Table } from "./table.ts";
import type { Key, Write } from "./writes.ts";

/*
 * Queues of tasks that are due at a given time. Each task has one item here. The transactions that change the subject of
 * the task also write and move this item, so a process that dies loses no task. All items of an account are in one
 * shard, so that its backlog delays few others.
 *
 * Access patterns
 *   the tasks due by a time     <queue>#<shard> / <due time>#<account id>#<names of its subject>
 */
/** A queue. `shards` is at most 256. */
export type Queue = { name: string; shards: number };

/** The subject of a task: its account, and the names that identify it in the account. */
export type TaskSubject = readonly [accountId: string, ...names: string[]];

/** The table deletes a task that is still not done this long after it was due. */
const keptSeconds = 400 * 86_400;

const partition = ({ name }: Queue, shard: number): string => `${name}#${shard}`;

const shardOf = ({ shards }: Queue, accountId: string): number =>
  createHash("sha256").update(accountId).digest().readUInt8(0) % shards;

/** The key of a task that is due at a given time (RFC 3339, UTC, milliseconds). */
export const dueKey = (queue: Queue, subject: TaskSubject, at: string): Key => ({
  PK: partition(queue, shardOf(queue, subject[0])),
  SK: [at, ...subject].join("#"),
});

/** The write that makes a task due at a given time. */
export const dueWrite = (queue: Queue, subject: TaskSubject, at: string): Write => ({
  put: { ...dueKey(queue, subject, at), ttl: Math.ceil(Date.parse(at) / 1_000) + keptSeconds },
});

/** The writes that move a task from one due time to another; null means that the task is not in the queue. */
export const moveDue = (queue: Queue, subject: TaskSubject, from: string | null, to: string | null): Write[] =>
  from === to
    ? []
    : [
        ...(from === null ? [] : [{ delete: dueKey(queue, subject, from) }]),
        ...(to === null ? [] : [dueWrite(queue, subject, to)]),
      ];

/** The number of tasks that are read from one shard. Each has about 200 bytes. */
const shardLimit = 10_000;
const shardsAtOnce = 8;

/** Reads the due tasks of each shard, the earliest first, at most 10,000 from each. `place` is the task's subject. */
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
 * Removes a task from its queue if it is not due any more. `look` tells whether the task is still due, and returns a
 * write that makes the transaction fail if the subject has changed since.
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
export type SweepResult = { due: number; done: number; failed: number };

/** A task that is due, and its account. */
export type Task = { accountId: string; run: () => Promise<void> };

type DueContext = { table: Reader; now: () => Date };

/**
 * Reads the due tasks of a queue, the earliest first. The subjects of the queue must consist of an account and one id.
 */
export async function dueTasks<W extends DueContext>(
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
 * Runs up to `limit` tasks, `atOnce` at the same time, taking turns between the accounts.
 * - No task is started after `budgetMs`.
 * - A task that fails is logged and stays due.
 */
export async function sweepTasks(tasks: readonly Task[], log: Log, bounds: Bounds = {}): Promise<SweepResult> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const some = roundRobin(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await mapConcurrently(some, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}
