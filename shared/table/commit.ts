import { randomUUID } from "node:crypto";

import { roundTrip, type Connection } from "./client.ts";
import { Contention, backOff, fairBackOff, isInProgress, refusalOf, tooBusy } from "./failures.ts";
import type { Locks } from "./locks.ts";
import type { Input } from "./operations.ts";
import { itemKey, toTransactItem, type Write } from "./writes.ts";

/** The writes of one transaction, and the value to return when the transaction is committed. */
export type Plan<T> = { writes: Write[]; value: T };

/**
 * The value of a committed transaction, or the names of the items that are locked or for which the transaction lost a
 * race.
 */
type PlanResult<T> = { value: T } | { contested: readonly string[] };

/** The items that a commit has locked in `locks`, or queues for, and the functions that release the locks. */
type HeldLocks = { locks: Locks; names: Set<string>; releases: (() => void)[] };

/**
 * Runs a plan until its transaction is committed or refused. Throws 503 `busy` if the transaction loses races for
 * longer than the connection's `limitMs`. A commit locks the items of the writes that depend on reads
 * (`dependsOnRead`), if all of these items are free. If not, the commit releases its locks and queues for all of these
 * items together.
 */
export async function commit<T>(connection: Connection, plan: () => Promise<Plan<T>>): Promise<T> {
  const startedAt = performance.now();
  const { limitMs, client } = connection;
  const waitedMs = (): number => performance.now() - startedAt;
  const held: HeldLocks = { locks: client.locks, names: new Set(), releases: [] };
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await runPlan(connection, plan, held, startedAt);
      if ("value" in outcome) return outcome.value;
      if (waitedMs() > limitMs) throw tooBusy();
      if (outcome.contested.every((name) => held.names.has(name))) {
        // This commit has locked these items. So the conflict is with another process or with a write without a lock,
        // or the table is throttled.
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

/**
 * Releases all locks. Then waits for the locks of these items and of all items that were locked before. Throws 503
 * `busy` if the wait takes longer than `limitMs` milliseconds.
 */
async function queueFor(names: readonly string[], held: HeldLocks, limitMs: number): Promise<void> {
  releaseLocks(held);
  for (const name of names) held.names.add(name);
  const release = await held.locks.acquire([...held.names], limitMs);
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
 * Whether a write changes an item, and has a condition on attributes that its plan has read. If two of these writes
 * reach an item at the same time, one of them usually fails. False for a check, which changes nothing.
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
  const release = held.locks.tryAcquire(missing);
  if (!release) return { contested: held.locks.locked(missing) };
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

/**
 * Sends a transaction, and sends it again while DynamoDB reports it as in progress. Throws 503 `busy` if the
 * transaction is still in progress when the connection's `limitMs` have passed since `startedAt`.
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
