import { hash } from "node:crypto";

import { mapConcurrently, roundRobin, allFulfilled } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import type { Reader, Table } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/*
 * Queues of tasks that are due at a given time. A queue has one item for each task. Usually the transactions that
 * change the subject of a task also write and move this item, so that a process that dies loses no task. All items of
 * an account are in one shard, so that the backlog of an account delays few other accounts.
 *
 * Access patterns
 *   the tasks due by a time     <queue>#<shard> / <due time>#<account id>#<names of the subject>
 */
/** A queue. `shards` is at most 256, because one byte of a hash selects the shard of an account. */
export type Queue = { name: string; shards: number };

/** The subject of a task: its account, and the names that identify it in the account. */
export type TaskSubject = readonly [accountId: string, ...names: string[]];

/** The table deletes a task this many seconds after the task was due, even if the task was never done. */
const keptSeconds = 400 * 86_400;

const partition = ({ name }: Queue, shard: number): string => `${name}#${shard}`;

const shardOf = ({ shards }: Queue, accountId: string): number =>
  hash("sha256", accountId, "buffer").readUInt8(0) % shards;

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

/** The most tasks that a run reads from one shard. A task has about 200 bytes. */
const shardLimit = 10_000;
const shardsAtOnce = 8;

/** A task as it is stored: its due time, its subject, and the item with its key. */
export type DueItem = { at: string; subject: readonly string[]; item: Item };

/**
 * Reads up to `limit` due tasks of a shard, the earliest first. With `after`, reads only the tasks after this sort key.
 */
export async function readShard(
  table: Reader,
  queue: Queue,
  shard: number,
  now: Date,
  { limit, after = "" }: { limit: number; after?: string | undefined },
): Promise<DueItem[]> {
  // `!` sorts before the other characters of these keys, and `~` after them. So the range begins after the key `after`,
  // and includes the tasks that are due at `now`.
  const items = await table.between(partition(queue, shard), `${after}!`, `${now.toISOString()}~`, { limit });
  return items.map((item) => {
    const [at = "", ...subject] = item.SK.split("#");
    return { at, subject, item };
  });
}

/** Reads all tasks of an account in a queue, including tasks that are not due yet. Reads the account's whole shard. */
export async function tasksOf(table: Reader, queue: Queue, accountId: string): Promise<Omit<DueItem, "item">[]> {
  const items = await table.between(partition(queue, shardOf(queue, accountId)), "0", "9~");
  return items
    .map(({ SK }) => {
      const [at = "", ...subject] = SK.split("#");
      return { at, subject };
    })
    .filter(({ subject: [id] }) => id === accountId);
}

/**
 * The sort key at which the last read of this process ended, by partition. A shard gets an entry only if it has at
 * least as many due tasks as a run reads.
 */
const places = new Map<string, string>();

/**
 * Reads up to `limit` due tasks of a shard, or one more if `limit` is odd. The first half of the result has the
 * earliest tasks. The second half begins where the last call ended, or directly after the first half if this is later
 * or the last call reached the last due task. So an account with many due tasks hides the tasks of other accounts for
 * some runs only.
 */
async function readInTurn(table: Reader, queue: Queue, shard: number, now: Date, limit: number): Promise<DueItem[]> {
  const name = partition(queue, shard);
  const half = Math.ceil(limit / 2);
  const earliest = await readShard(table, queue, shard, now, { limit: half });
  const last = earliest.length < half ? undefined : earliest.at(-1)?.item.SK;
  if (last === undefined) return earliest;
  const place = places.get(name) ?? "";
  const further = await readShard(table, queue, shard, now, { limit: half, after: place > last ? place : last });
  const end = further.length < half ? undefined : further.at(-1)?.item.SK;
  if (end === undefined) places.delete(name);
  else places.set(name, end);
  return [...earliest, ...further];
}

/**
 * Reads due tasks of each shard, the earliest first: from each shard at most `limit`, or one more if `limit` is odd.
 */
export async function readDue(
  table: Reader,
  queue: Queue,
  now: Date,
  limit: number = shardLimit,
): Promise<Omit<DueItem, "item">[][]> {
  const shards = Array.from({ length: queue.shards }, (_, shard) => shard);
  const read = await mapConcurrently(shards, shardsAtOnce, (shard) => readInTurn(table, queue, shard, now, limit));
  return allFulfilled(read).map((items) => items.map(({ at, subject }) => ({ at, subject })));
}

/**
 * Removes a task from its queue if the task is not due any more. `readSubject` reads whether the task is still due.
 * `readSubject` also returns a write that makes the transaction fail if the subject has changed since.
 */
export const forgetDue = (
  table: Table,
  due: Key,
  readSubject: () => Promise<{ isDue: boolean; unchanged: Write }>,
): Promise<void> =>
  table.commit(async () => {
    const { isDue, unchanged } = await readSubject();
    return { value: undefined, writes: isDue ? [] : [{ delete: due }, unchanged] };
  });

/** The bounds of a run; `sweepTasks` explains them. */
export type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** How many tasks were due, how many of these were done, and how many failed. */
export type SweepResult = { due: number; done: number; failed: number };

/** A task that is due, and its account. */
export type Task = { accountId: string; run: () => Promise<void> };

type DueContext = { table: Reader; now: () => Date };

/**
 * Reads due tasks of a queue, the earliest first, at most 10,000 of each shard. The subjects of the queue must consist
 * of an account and one id.
 */
export async function dueTasks<W extends DueContext>(
  queue: Queue,
  runTask: (accountId: string, id: string, at: string, context: W) => Promise<void>,
  context: W,
): Promise<Task[]> {
  const shards = await readDue(context.table, queue, context.now());
  return shards
    .flat()
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ at, subject: [accountId = "", id = ""] }) => ({
      accountId,
      run: () => runTask(accountId, id, at, context),
    }));
}

/**
 * Runs up to `limit` tasks, `atOnce` of them at the same time. The accounts take turns, with one task each.
 * - After `budgetMs` milliseconds no further task is started.
 * - A failure of a task is logged. Only `run` removes its task from the queue. So if `run` fails before this removal,
 *   the task stays due.
 */
export async function sweepTasks(tasks: readonly Task[], log: Log, bounds: Bounds = {}): Promise<SweepResult> {
  const { limit = 500, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const selected = roundRobin(tasks, ({ accountId }) => accountId).slice(0, limit);
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const results = await mapConcurrently(selected, atOnce, ({ run }) => run(), isOver);
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) log.error("not done", { reason: String(reason) });
  return { due: tasks.length, done: results.length - failures.length, failed: failures.length };
}
