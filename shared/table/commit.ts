import { randomUUID } from "node:crypto";

import { Problem } from "../core/errors.ts";
import { roundTrip, type Connection } from "./client.ts";
import { Contention, backOff, fairBackOff, isInProgress, refusalOf } from "./failures.ts";
import type { Input } from "./operations.ts";
import { itemKey, toTransactItem, type Write } from "./writes.ts";

/** Locks of items, by name. Callers get the lock of an item in the order in which they asked for it. */
type Locks = {
  /**
   * Waits for the locks of all these items, and returns the function that releases the locks. Returns undefined if the
   * wait takes longer than `limitMs` milliseconds. To prevent deadlocks, ask for all items at once, and hold no lock
   * while you wait.
   */
  acquire: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Locks items without waiting; undefined if an item is locked. */
  tryAcquire: (names: readonly string[]) => (() => void) | undefined;
  /** Returns the items that are locked. */
  locked: (names: readonly string[]) => string[];
};

/** Creates locks for the callers of this process. */
export function newLocks(): Locks {
  /** By item, a promise that resolves when the last caller has released the lock of the item. */
  const lastReleases = new Map<string, Promise<void>>();
  const enqueue = (name: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lastReleases.set(name, promise);
    return () => {
      if (lastReleases.get(name) === promise) lastReleases.delete(name);
      resolve();
    };
  };
  const lockFree = (names: readonly string[]): (() => void) => {
    const releases = [...new Set(names)].map(enqueue);
    return () => {
      for (const release of releases) release();
    };
  };
  const locked = (names: readonly string[]): string[] => names.filter((name) => lastReleases.has(name));
  return {
    locked,
    tryAcquire: (names) => (locked(names).length > 0 ? undefined : lockFree(names)),
    acquire: async (names, limitMs) => {
      const tickets = [...new Set(names)].map((name) => ({
        earlier: lastReleases.get(name),
        release: enqueue(name),
      }));
      const allEarlier = Promise.all(tickets.flatMap(({ earlier }) => earlier ?? []));
      const releaseAll = (): void => {
        for (const { release } of tickets) release();
      };
      if (await endsWithin(limitMs, allEarlier)) return releaseAll;
      // A later caller of an item waits only for this caller's release. So this release must come after the release of
      // the earlier caller.
      for (const { earlier, release } of tickets) void Promise.resolve(earlier).then(release);
      return undefined;
    },
  };
}

async function endsWithin(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), limitMs);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The writes of one transaction, and the value to return when the transaction is committed. */
export type Plan<T> = { writes: Write[]; value: T };

/** The process locks items, because concurrent transactions on one item would only make each other fail. */
const locks = newLocks();

/** The value of a committed transaction, or the names of the items for which the transaction lost a race. */
type PlanResult<T> = { value: T } | { contested: readonly string[] };

/** The items that a commit has locked or queues for, and the functions that release the locks. */
type HeldLocks = { names: Set<string>; releases: (() => void)[] };

/**
 * Runs a plan until its transaction is committed or refused. Throws 503 `busy` if the transaction loses races for
 * longer than the connection's `limitMs`. A commit locks its items if all of them are free. If not, the commit releases
 * its locks and queues for all of its items together.
 */
export async function commit<T>(connection: Connection, plan: () => Promise<Plan<T>>): Promise<T> {
  const startedAt = performance.now();
  const { limitMs } = connection;
  const waitedMs = (): number => performance.now() - startedAt;
  const held: HeldLocks = { names: new Set(), releases: [] };
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await runPlan(connection, plan, held, startedAt);
      if ("value" in outcome) return outcome.value;
      if (waitedMs() > limitMs) throw tooBusy();
      if (outcome.contested.every((name) => held.names.has(name))) {
        // This commit has locked these items, so the conflict is with another process.
        await fairBackOff(attempt, waitedMs(), limitMs);
      } else {
        await queueFor(outcome.contested, held, limitMs - waitedMs());
      }
    }
  } finally {
    releaseLocks(held);
  }
}

function releaseLocks({ releases }: HeldLocks): void {
  for (const release of releases.splice(0)) release();
}

/** Releases all locks. Then waits for the locks of these items and of all items that were locked before. */
async function queueFor(names: readonly string[], held: HeldLocks, limitMs: number): Promise<void> {
  releaseLocks(held);
  for (const name of names) held.names.add(name);
  const release = await locks.acquire([...held.names], limitMs);
  if (!release) throw tooBusy();
  held.releases.push(release);
}

/** The name of a write's item, unique among all tables. */
const nameIn =
  ({ name }: Connection) =>
  (write: Write): string => {
    const { PK, SK } = itemKey(write);
    return `${name} ${PK} ${SK}`;
  };

/**
 * Whether a write has a condition on attributes that its plan has read. Of two such writes to an item at the same time,
 * one fails.
 */
const dependsOnRead = (write: Write): boolean => typeof write.if === "object" && !("check" in write);

/** Runs a plan once. */
async function runPlan<T>(
  connection: Connection,
  plan: () => Promise<Plan<T>>,
  held: HeldLocks,
  startedAt: number,
): Promise<PlanResult<T>> {
  const { writes, value } = await plan();
  if (writes.length === 0) return { value };
  const names = writes.filter(dependsOnRead).map(nameIn(connection));
  const missing = names.filter((name) => !held.names.has(name));
  const release = locks.tryAcquire(missing);
  if (!release) return { contested: locks.locked(missing) };
  held.releases.push(release);
  for (const name of missing) held.names.add(name);
  const input: Input<"TransactWriteItems"> = {
    // A transaction may be sent several times. Because each request has the same token, DynamoDB commits the
    // transaction only once. DynamoDB remembers a token for 10 minutes.
    ClientRequestToken: randomUUID(),
    TransactItems: writes.map((write) => toTransactItem(connection.name, write)),
    ReturnConsumedCapacity: "TOTAL",
  };
  try {
    await sendUntilSettled(connection, input, startedAt);
    return { value };
  } catch (error) {
    const refusal = refusalOf(error, writes);
    if (!(refusal instanceof Contention)) throw refusal;
    const dependent = refusal.writes.filter(dependsOnRead);
    return { contested: (dependent.length > 0 ? dependent : refusal.writes).map(nameIn(connection)) };
  }
}

const tooBusy = (): Problem =>
  new Problem("busy", "Too many requests change the same resource at once. Try again.", { retry_after: 1 });

/**
 * Sends a transaction, and sends it again while DynamoDB reports it as in progress. Throws 503 `busy` when that takes
 * longer than the connection's `limitMs`.
 */
async function sendUntilSettled(
  connection: Connection,
  input: Input<"TransactWriteItems">,
  startedAt: number,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await roundTrip(connection, "writeUnits", () => connection.client.send("TransactWriteItems", input));
      return;
    } catch (error) {
      if (!isInProgress(error)) throw error;
      if (performance.now() - startedAt > connection.limitMs) throw tooBusy();
      await backOff(attempt);
    }
  }
}
