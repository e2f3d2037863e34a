import { randomUUID } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod";

import { Problem } from "../errors.ts";
import { attempt, type Attempt } from "./attempt.ts";
import { backOff } from "./back-off.ts";
import { call, type Connection, type Usage } from "./connection.ts";
import { contention, isInProgress, refusalOf } from "./failures.ts";
import { between, get, getMany, type RangeOptions } from "./reads.ts";
import { toTransactItem, type Item, type Key, type Write } from "./writes.ts";

/** What a transaction wants to do, and what its caller gets when it is done. */
export type Plan<T> = { writes: Write[]; value: T };

/** What may be read of the table. All reads but `glimpse` are strongly consistent. */
export type Reader = {
  /** One item, parsed; undefined when there is none. */
  get: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /** As `get` at half the price, and maybe as it was a moment ago: for pointers whose target proves them right. */
  glimpse: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /** Items unparsed, in the order of `keys`; one round trip for every 100. */
  getMany: (keys: Key[]) => Promise<(Item | undefined)[]>;
  /** The items of one partition whose sort keys lie between two, both included, in their order or in reverse. */
  between: (partition: string, from: string, to: string, options?: RangeOptions) => Promise<Item[]>;
};

/** The table as resources see it. */
export type Table = Reader & {
  /** One write outside of any transaction: half the price of one, and for what nothing else depends on. */
  attempt: (write: Write) => Promise<Attempt>;
  /**
   * Runs `plan` (fresh reads, then up to 100 writes that happen together or not at all). A failed
   * condition throws its write's `orElse`; one without `orElse` and any conflict mean that the reads
   * were stale: the whole plan runs again, with jittered back-off, until 503 `busy`.
   */
  commit: <T>(plan: () => Promise<Plan<T>>) => Promise<T>;
};

const contentionLimitMs = 5_000;

/** A client that keeps its connections; endpoint and credentials come from the environment unless said otherwise. */
export function documentClient(place: { endpoint?: string } = {}): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    ...place,
    maxAttempts: 3,
    // Three attempts end before a route's Lambda does, so that the caller gets our 503.
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/** The named table over a client; what its calls consume is added to `usage`, contention is fought for `limitMs`. */
export function openTable(
  client: DynamoDBDocumentClient,
  name: string,
  usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 },
  limitMs: number = contentionLimitMs,
): Table {
  const connection = { client, name, usage, limitMs };
  return {
    get: (key, schema) => get(connection, key, schema),
    glimpse: (key, schema) => get(connection, key, schema, false),
    getMany: (keys) => getMany(connection, keys),
    between: (partition, from, to, options) => between(connection, partition, from, to, options),
    attempt: (write) => attempt(connection, write),
    commit: (plan) => commit(connection, plan),
  };
}

async function commit<T>(connection: Connection, plan: () => Promise<Plan<T>>): Promise<T> {
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt++) {
    const { writes, value } = await plan();
    if (writes.length === 0) return value;
    const command = new TransactWriteCommand({
      // One token for all that is sent of this attempt: the SDK's retries and ours commit it once (for 10 minutes).
      ClientRequestToken: randomUUID(),
      TransactItems: writes.map((write) => toTransactItem(connection.name, write)),
      ReturnConsumedCapacity: "TOTAL",
    });
    try {
      await sendUntilSettled(connection, command, startedAt);
      return value;
    } catch (error) {
      const refusal = refusalOf(error, writes);
      if (refusal !== contention) throw refusal;
      if (Date.now() - startedAt > connection.limitMs) throw tooBusy();
      await backOff(attempt);
    }
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
      if (Date.now() - startedAt > connection.limitMs) throw tooBusy();
      await backOff(attempt);
    }
  }
}
