import { randomUUID } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
} from "@aws-sdk/lib-dynamodb";
import type * as z from "zod";

import { Problem } from "../errors.ts";
import { backOff } from "./back-off.ts";
import { contention, failureOf, isInProgress, refusalOf } from "./failures.ts";
import { toTransactItem, type Item, type Key, type Write } from "./writes.ts";

/** What the calls of one request cost: DynamoDB capacity units, and the number of round trips. */
export type Usage = { readUnits: number; writeUnits: number; calls: number };

/** What a transaction wants to do, and what its caller gets when it is done. */
export type Plan<T> = { writes: Write[]; value: T };

/** The table as resources see it. All reads are strongly consistent. */
export type Table = {
  /** One item, parsed; undefined when there is none. */
  get: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /** Items unparsed, in the order of `keys`; one round trip for every 100. */
  getMany: (keys: Key[]) => Promise<(Item | undefined)[]>;
  /** The items of one partition whose sort keys lie between two, both included, in order. */
  between: (partition: string, from: string, to: string) => Promise<Item[]>;
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

type Connection = { client: DynamoDBDocumentClient; name: string; usage: Usage; limitMs: number };

/** The named table over a client; what its calls consume is added to `usage`, contention is fought for `limitMs`. */
export function openTable(
  client: DynamoDBDocumentClient,
  name: string,
  usage: Usage,
  limitMs: number = contentionLimitMs,
): Table {
  const connection = { client, name, usage, limitMs };
  return {
    get: (key, schema) => get(connection, key, schema),
    getMany: (keys) => getMany(connection, keys),
    between: (partition, from, to) => between(connection, partition, from, to),
    commit: (plan) => commit(connection, plan),
  };
}

const reads = { ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" } as const;

type Spent = { CapacityUnits?: number | undefined };

/** One round trip: counted, its capacity added up, and its failure made one the caller understands. */
async function call<T extends { ConsumedCapacity?: Spent | Spent[] | undefined }>(
  { usage }: Connection,
  kind: "readUnits" | "writeUnits",
  send: () => Promise<T>,
): Promise<T> {
  usage.calls += 1;
  try {
    const answer = await send();
    for (const { CapacityUnits = 0 } of [answer.ConsumedCapacity ?? []].flat()) usage[kind] += CapacityUnits;
    return answer;
  } catch (error) {
    throw failureOf(error);
  }
}

async function get<S extends z.ZodType>(connection: Connection, key: Key, schema: S): Promise<z.output<S> | undefined> {
  const command = new GetCommand({ TableName: connection.name, Key: key, ...reads });
  const { Item: found } = await call(connection, "readUnits", () => connection.client.send(command));
  return found === undefined ? undefined : schema.parse(found);
}

const nameOf = ({ PK, SK }: Key): string => `${PK}\n${SK}`;

async function getMany(connection: Connection, keys: Key[]): Promise<(Item | undefined)[]> {
  const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
  const batches = Array.from({ length: Math.ceil(distinct.length / 100) }, (_, index) =>
    distinct.slice(index * 100, index * 100 + 100),
  );
  const items = (await Promise.all(batches.map((batch) => getBatch(connection, batch)))).flat();
  const found = new Map(items.map((item) => [nameOf(item), item]));
  return keys.map((key) => found.get(nameOf(key)));
}

/** BatchGetItem may leave keys unprocessed when it is throttled or its answer grows over 16 MB: they are asked for again. */
async function getBatch(connection: Connection, keys: Key[]): Promise<Item[]> {
  const { client, name } = connection;
  const items: Item[] = [];
  let wanted: Record<string, unknown>[] = keys;
  for (let attempt = 0; wanted.length > 0; attempt++) {
    if (attempt > 0) await backOff(attempt);
    if (attempt > 6) throw new Problem("busy", "The table is throttled. Try again.", { retry_after: 1 });
    const command = new BatchGetCommand({
      RequestItems: { [name]: { Keys: wanted, ConsistentRead: true } },
      ReturnConsumedCapacity: "TOTAL",
    });
    const answer = await call(connection, "readUnits", () => client.send(command));
    items.push(...((answer.Responses?.[name] ?? []) as Item[]));
    wanted = answer.UnprocessedKeys?.[name]?.Keys ?? [];
  }
  return items;
}

async function between(connection: Connection, partition: string, from: string, to: string): Promise<Item[]> {
  const items: Item[] = [];
  let start: Record<string, unknown> | undefined;
  do {
    const command = new QueryCommand({
      TableName: connection.name,
      KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
      ExpressionAttributeValues: { ":partition": partition, ":from": from, ":to": to },
      ...(start ? { ExclusiveStartKey: start } : {}),
      ...reads,
    });
    const answer = await call(connection, "readUnits", () => connection.client.send(command));
    items.push(...((answer.Items ?? []) as Item[]));
    start = answer.LastEvaluatedKey;
  } while (start);
  return items;
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
