import { randomUUID } from "node:crypto";

import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

import { Problem } from "../errors.ts";
import { backOff, fairBackOff } from "./back-off.ts";
import { call, type Connection } from "./connection.ts";
import { Contention, isInProgress, refusalOf } from "./failures.ts";
import { newTurns } from "./turns.ts";
import { keyOf, toTransactItem, type Write } from "./writes.ts";

/** What a transaction wants to do, and what its caller gets when it is done. */
export type Plan<T> = { writes: Write[]; value: T };

/**
 * Who of this process writes to items that others of it write to as well. Each first tries its luck; who loses, or finds
 * others waiting, queues for the items in question, as to lose against one another is all that many would do.
 */
const turns = newTurns();

/** A plan's run: done, or nothing came of it as others write to these items. */
type Outcome<T> = { value: T } | { contested: readonly string[] };

/**
 * Runs a plan until its transaction is committed or refused; 503 `busy` when others were always faster. No turn outlasts
 * this call, and none is held while it waits for another one.
 */
export async function commit<T>(connection: Connection, plan: () => Promise<Plan<T>>): Promise<T> {
  const startedAt = performance.now();
  const { limitMs } = connection;
  const waitedMs = (): number => performance.now() - startedAt;
  const held = new Set<string>();
  let endTurn: (() => void) | undefined;
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await run(connection, plan, held, startedAt);
      if ("value" in outcome) return outcome.value;
      if (waitedMs() > limitMs) throw tooBusy();
      const more = outcome.contested.filter((name) => !held.has(name));
      if (more.length === 0) {
        await fairBackOff(attempt, waitedMs(), limitMs);
        continue;
      }
      endTurn?.();
      for (const name of more) held.add(name);
      endTurn = await turns.take([...held], limitMs - waitedMs());
      if (!endTurn) throw tooBusy();
    }
  } finally {
    endTurn?.();
  }
}

/** What the item of a write goes by among all tables. */
const nameIn =
  ({ name }: Connection) =>
  (write: Write): string => {
    const { PK, SK } = keyOf(write);
    return `${name} ${PK} ${SK}`;
  };

/** One run of a plan, with turns at what is in `held`. */
async function run<T>(
  connection: Connection,
  plan: () => Promise<Plan<T>>,
  held: ReadonlySet<string>,
  startedAt: number,
): Promise<Outcome<T>> {
  const { writes, value } = await plan();
  if (writes.length === 0) return { value };
  const names = writes.map(nameIn(connection));
  const contested = turns.wanted(names.filter((name) => !held.has(name)));
  if (contested.length > 0) return { contested };
  const command = new TransactWriteCommand({
    // One token for all that is sent of this attempt: the SDK's retries and ours commit it once (for 10 minutes).
    ClientRequestToken: randomUUID(),
    TransactItems: writes.map((write) => toTransactItem(connection.name, write)),
    ReturnConsumedCapacity: "TOTAL",
  });
  try {
    await sendUntilSettled(connection, command, startedAt);
    return { value };
  } catch (error) {
    const refusal = refusalOf(error, writes);
    if (!(refusal instanceof Contention)) throw refusal;
    return { contested: refusal.writes.map(nameIn(connection)) };
  }
}

const tooBusy = (): Problem =>
  new Problem("busy", "Too many changes at once to the same thing. Try again.", { retry_after: 1 });

/** Sends a transaction again while the table is still at work on it. */
async function sendUntilSettled(
  connection: Connection,
  command: TransactWriteCommand,
  startedAt: number,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await call(connection, "writeUnits", () => connection.client.send(command));
      return;
    } catch (error) {
      if (!isInProgress(error)) throw error;
      if (performance.now() - startedAt > connection.limitMs) throw tooBusy();
      await backOff(attempt);
    }
  }
}
