import type * as z from "zod";

import { Problem } from "../core/errors.ts";
import { roundTrip, type Connection } from "./client.ts";
import { backOff } from "./failures.ts";
import { type Item, type Key, keyText } from "./writes.ts";

/** How much of a range of sort keys to read, and from which end. */
export type RangeOptions = { limit?: number; newestFirst?: boolean };

/** The sort keys of a partition from `from` to `to`, both included. */
export type Range = { partition: string; from: string; to: string };

const callOptions = { ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" } as const;

/** Implements `Reader.get` and, if `ConsistentRead` is false, the read of `Reader.glimpse`. */
export async function get<S extends z.ZodType>(
  connection: Connection,
  key: Key,
  schema: S,
  ConsistentRead = true,
): Promise<z.output<S> | undefined> {
  const { client, name } = connection;
  const input = { TableName: name, Key: key, ...callOptions, ConsistentRead };
  const { Item: item } = await roundTrip(connection, "readUnits", () => client.send("GetItem", input));
  return item === undefined ? undefined : schema.parse(item);
}

/** Implements `Reader.getMany`. */
export async function getMany(connection: Connection, keys: Key[]): Promise<(Item | undefined)[]> {
  const distinct = [...new Map(keys.map((key) => [keyText(key), key])).values()];
  const batches = Array.from({ length: Math.ceil(distinct.length / 100) }, (_, index) =>
    distinct.slice(index * 100, index * 100 + 100),
  );
  const items = (await Promise.all(batches.map((batch) => getBatch(connection, batch)))).flat();
  const byKey = new Map(items.map((item) => [keyText(item), item]));
  return keys.map((key) => byKey.get(keyText(key)));
}

/**
 * Reads a batch of items. BatchGetItem leaves keys unprocessed if it is throttled, or if its answer would exceed 16 MB.
 * These keys are requested again. Throws 503 `busy` if keys are still unprocessed after seven requests.
 */
async function getBatch(connection: Connection, keys: Key[]): Promise<Item[]> {
  const { client, name } = connection;
  const items: Item[] = [];
  let remaining: Record<string, unknown>[] = keys;
  for (let attempt = 0; remaining.length > 0; attempt++) {
    if (attempt > 6) throw new Problem("busy", "The table is throttled. Try again.", { retry_after: 1 });
    if (attempt > 0) await backOff(attempt);
    const input = {
      RequestItems: { [name]: { Keys: remaining, ConsistentRead: true } },
      ReturnConsumedCapacity: "TOTAL",
    } as const;
    const answer = await roundTrip(connection, "readUnits", () => client.send("BatchGetItem", input));
    items.push(...((answer.Responses?.[name] ?? []) as Item[]));
    remaining = answer.UnprocessedKeys?.[name]?.Keys ?? [];
  }
  return items;
}

/** Implements `Reader.between`. */
export async function between(
  connection: Connection,
  partition: string,
  from: string,
  to: string,
  { limit = Infinity, newestFirst = false }: RangeOptions = {},
): Promise<Item[]> {
  const items: Item[] = [];
  let start: Record<string, unknown> | undefined;
  do {
    const input = {
      TableName: connection.name,
      KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
      ExpressionAttributeValues: { ":partition": partition, ":from": from, ":to": to },
      ScanIndexForward: !newestFirst,
      ...(limit === Infinity ? {} : { Limit: limit - items.length }),
      ...(start ? { ExclusiveStartKey: start } : {}),
      ...callOptions,
    };
    const answer = await roundTrip(connection, "readUnits", () => connection.client.send("Query", input));
    items.push(...((answer.Items ?? []) as Item[]));
    start = answer.LastEvaluatedKey;
  } while (start && items.length < limit);
  return items;
}

type RangeReader = {
  between: (partition: string, from: string, to: string, options?: RangeOptions) => Promise<Item[]>;
};

/**
 * The rows of a range in the order of their sort keys, in pages of up to `pageSize` rows. Rows may be added or deleted
 * meanwhile.
 */
export async function* pagesOf(
  table: RangeReader,
  { partition, from, to }: Range,
  pageSize = 500,
): AsyncGenerator<Item[]> {
  for (let start = from; ;) {
    const page = await table.between(partition, start, to, { limit: pageSize });
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    // Sort keys have no control characters, so `start` sorts after the last row and before the next row.
    start = `${last.SK}\u0001`;
  }
}

/** All rows of a partition in the order of their sort keys. Rows may be added or deleted meanwhile. */
export async function* rowsInPartition(table: RangeReader, partition: string): AsyncGenerator<Item> {
  for await (const page of pagesOf(table, { partition, from: " ", to: "\u{10FFFF}" })) yield* page;
}
