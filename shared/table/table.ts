import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod";

import { attempt, type Attempt } from "./attempt.ts";
import { commit, type Plan } from "./commit.ts";
import type { Connection, Usage } from "./connection.ts";
import { between, get, getMany, type RangeOptions } from "./reads.ts";
import type { Item, Key, Write } from "./writes.ts";

/** The reads of the table. All but `glimpse` are strongly consistent. */
export type Reader = {
  /** One item, parsed; undefined when there is none. */
  get: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /**
   * Like `get`, at half the price, but possibly as the item was a moment ago. For pointers whose target proves them
   * right.
   */
  glimpse: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /** Items unparsed, in the order of `keys`; one round trip for every 100. */
  getMany: (keys: Key[]) => Promise<(Item | undefined)[]>;
  /** The items of one partition whose sort keys lie between two, both included, in their order or in reverse. */
  between: (partition: string, from: string, to: string, options?: RangeOptions) => Promise<Item[]>;
};

/** The table as resources see it. */
export type Table = Reader & {
  /** Makes one write outside of any transaction, at half the price. For writes on which nothing else depends. */
  attempt: (write: Write) => Promise<Attempt>;
  /**
   * Runs `plan`: fresh reads, then up to 100 writes that happen together or not at all. A plan commits nothing itself.
   * - A failed condition throws its write's `orElse`.
   * - A failed condition without `orElse`, and any conflict, mean that the reads were stale: the whole plan runs again,
   *   until 503 `busy`.
   * - Plans of this process that write to the same items run in turns. For those of other processes there is jittered
   *   back-off.
   */
  commit: <T>(plan: () => Promise<Plan<T>>) => Promise<T>;
};

/** Two hundred processes that add to one list at the same time are done in half of this time, at 40 ms for each try. */
const contentionLimitMs = 15_000;

/**
 * Creates a client that keeps its connections. Endpoint and credentials come from the environment unless they are
 * given.
 */
export function documentClient(place: { endpoint?: string } = {}): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    ...place,
    maxAttempts: 3,
    // Three attempts end before the Lambda of a route times out, so that the caller gets our 503.
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/**
 * Opens the named table over a client. What its calls consume is added to `usage`. A transaction that meets contention
 * is tried for `limitMs`.
 */
export function openTable(
  client: DynamoDBDocumentClient,
  name: string,
  usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 },
  limitMs: number = contentionLimitMs,
): Table {
  const connection: Connection = { client, name, usage, limitMs };
  return {
    get: (key, schema) => get(connection, key, schema),
    glimpse: (key, schema) => get(connection, key, schema, false),
    getMany: (keys) => getMany(connection, keys),
    between: (partition, from, to, options) => between(connection, partition, from, to, options),
    attempt: (write) => attempt(connection, write),
    commit: (plan) => commit(connection, plan),
  };
}
