import { randomUUID } from "node:crypto";

import { Problem } from "../core/errors.ts";
import { roundTrip, type Connection } from "./client.ts";
import { Contention, backOff, fairBackOff, isInProgress, refusalOf } from "./failures.ts";
import type { Input } from "./operations.ts";
import { itemKey, toTransactItem, type Write } from "./writes.ts";

/** A queue for each item that several callers want to use. Callers get an item in the order in which they asked. */
type Turns = {
  /**
   * Waits until all earlier callers for any of these items are done, and returns the function that ends this turn;
   * undefined if that takes longer than `limitMs`. To prevent deadlocks, ask for all items at once, and hold nothing
   * while asking for items that others want.
   */
  take: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Takes a turn at items at once; undefined if another caller uses one of them or waits for it. */
  takeFree: (names: readonly string[]) => (() => void) | undefined;
  /** Returns those of the given items that are in use or waited for. */
  wanted: (names: readonly string[]) => string[];
};

/** Creates turns for the callers of this process. It forgets an item after its last turn. */
export function newTurns(): Turns {
  /** The end of the last turn that was asked for, by item. */
  const ends = new Map<string, Promise<void>>();
  const beginOne = (name: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, promise);
    return () => {
      if (ends.get(name) === promise) ends.delete(name);
      resolve();
    };
  };
  const begin = (names: readonly string[]): (() => void) => {
    const all = [...new Set(names)].map(beginOne);
    return () => {
      for (const end of all) end();
    };
  };
  const wanted = (names: readonly string[]): string[] => names.filter((name) => ends.has(name));
  return {
    wanted,
    takeFree: (names) => (wanted(names).length > 0 ? undefined : begin(names)),
    take: async (names, limitMs) => {
      const places = [...new Set(names)].map((name) => ({ earlier: ends.get(name), end: beginOne(name) }));
      const earlier = Promise.all(places.flatMap((place) => place.earlier ?? []));
      const endAll = (): void => {
        for (const { end } of places) end();
      };
      if (await isWithin(limitMs, earlier)) return endAll;
      // Later callers still wait for each item until its earlier caller is done.
      for (const place of places) void Promise.resolve(place.earlier).then(place.end);
      return undefined;
    },
  };
}

async function isWithin(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), limitMs);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The writes of one transaction, and the value that its caller gets when it is committed. */
export type Plan<T> = { writes: Write[]; value: T };

/**
 * The turns of this process at items. Transactions that write to the same item at the same time would only make each
 * other fail.
 */
const turns = newTurns();

/** The result of running a plan: committed, or the items to which others write. */
type PlanResult<T> = { value: T } | { contested: readonly string[] };

/** The items that a transaction has to itself in this process, and the functions that release them. */
type Held = { names: Set<string>; ends: (() => void)[] };

/**
 * Runs a plan until its transaction is committed or refused. Throws 503 `busy` if others were always faster. It takes
 * the items that are free, and queues for the others. While it queues, and once it has ended, it holds nothing.
 */
export async function commit<T>(connection: Connection, plan: () => Promise<Plan<T>>): Promise<T> {
  const startedAt = performance.now();
  const { limitMs } = connection;
  const waitedMs = (): number => performance.now() - startedAt;
  const held: Held = { names: new Set(), ends: [] };
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await runPlan(connection, plan, held, startedAt);
      if ("value" in outcome) return outcome.value;
      if (waitedMs() > limitMs) throw tooBusy();
      if (outcome.contested.every((name) => held.names.has(name))) {
        // Others of this process wait for these items, so the conflict is with another process.
        await fairBackOff(attempt, waitedMs(), limitMs);
      } else {
        await queueFor(outcome.contested, held, limitMs - waitedMs());
      }
    }
  } finally {
    letGo(held);
  }
}

function letGo({ ends }: Held): void {
  for (const end of ends.splice(0)) end();
}

/** Releases everything, then waits for its turn at these items and at those it had before. */
async function queueFor(names: readonly string[], held: Held, limitMs: number): Promise<void> {
  letGo(held);
  for (const name of names) held.names.add(name);
  const end = await turns.take([...held.names], limitMs);
  if (!end) throw tooBusy();
  held.ends.push(end);
}

/** The name of a write's item, unique among all tables. */
const nameIn =
  ({ name }: Connection) =>
  (write: Write): string => {
    const { PK, SK } = itemKey(write);
    return `${name} ${PK} ${SK}`;
  };

/**
 * Whether a write depends on the state of its item that was read. If two such writes happen at the same time, one of
 * them fails.
 */
const isByReading = (write: Write): boolean => typeof write.if === "object" && !("check" in write);

/** Runs a plan once. */
async function runPlan<T>(
  connection: Connection,
  plan: () => Promise<Plan<T>>,
  held: Held,
  startedAt: number,
): Promise<PlanResult<T>> {
  const { writes, value } = await plan();
  if (writes.length === 0) return { value };
  const wanted = writes.filter(isByReading).map(nameIn(connection));
  const others = wanted.filter((name) => !held.names.has(name));
  const end = turns.takeFree(others);
  if (!end) return { contested: turns.wanted(others) };
  held.ends.push(end);
  for (const name of others) held.names.add(name);
  const input: Input<"TransactWriteItems"> = {
    // Every try to send this attempt has the same token, so that it is committed once. DynamoDB remembers a token for
    // 10 minutes.
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
    const known = refusal.writes.filter(isByReading);
    return { contested: (known.length > 0 ? known : refusal.writes).map(nameIn(connection)) };
  }
}

const tooBusy = (): Problem =>
  new Problem("busy", "Too many requests change the same resource at once. Try again.", { retry_after: 1 });

/**
 * Sends a transaction, and sends it again while the table is still working on it. Throws 503 `busy` after the
 * connection's time limit.
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
