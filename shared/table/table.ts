import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, DynamoDBDocumentClient, GetCommand, QueryCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod";
import { Problem } from "../errors.ts";
import { contention, failureOf, refusalOf } from "./failures.ts";
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

const deadlineMs = 5_000;

/** A client that keeps its connections; `endpoint` and credentials come from the environment, as the SDK reads them. */
export function documentClient(): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000 },
  });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

type Spent = { CapacityUnits?: number | undefined } | { CapacityUnits?: number | undefined }[] | undefined;

/** The named table over a client; what its calls consume is added to `usage`. */
export function openTable(client: DynamoDBDocumentClient, name: string, usage: Usage): Table {
  const spend = (kind: "readUnits" | "writeUnits", spent: Spent) => {
    for (const { CapacityUnits = 0 } of [spent ?? []].flat()) usage[kind] += CapacityUnits;
  };
  const call = async <T>(send: () => Promise<T>): Promise<T> => {
    usage.calls += 1;
    try {
      return await send();
    } catch (error) {
      throw failureOf(error);
    }
  };
  const reads = { ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" } as const;
  const readBatch = async (keys: Key[], found: Map<string, Item>) => {
    let wanted: Record<string, unknown>[] = keys;
    for (let attempt = 0; wanted.length > 0; attempt++) {
      if (attempt > 0) await backOff(attempt);
      if (attempt > 6) throw new Problem("busy", "The table is throttled. Try again.", { retry_after: 1 });
      const request = { RequestItems: { [name]: { Keys: wanted, ConsistentRead: true } } };
      const answer = await call(() => client.send(new BatchGetCommand({ ...request, ReturnConsumedCapacity: "TOTAL" })));
      spend("readUnits", answer.ConsumedCapacity);
      for (const item of (answer.Responses?.[name] ?? []) as Item[]) found.set(`${item.PK}\n${item.SK}`, item);
      wanted = answer.UnprocessedKeys?.[name]?.Keys ?? [];
    }
  };

  return {
    async get(key, schema) {
      const answer = await call(() => client.send(new GetCommand({ TableName: name, Key: key, ...reads })));
      spend("readUnits", answer.ConsumedCapacity);
      return answer.Item === undefined ? undefined : schema.parse(answer.Item);
    },

    async getMany(keys) {
      const found = new Map<string, Item>();
      const distinct = [...new Map(keys.map((key) => [`${key.PK}\n${key.SK}`, key])).values()];
      const batches = Array.from({ length: Math.ceil(distinct.length / 100) }, (_, index) =>
        distinct.slice(index * 100, index * 100 + 100),
      );
      await Promise.all(batches.map((batch) => readBatch(batch, found)));
      return keys.map((key) => found.get(`${key.PK}\n${key.SK}`));
    },

    async between(partition, from, to) {
      const items: Item[] = [];
      let start: Record<string, unknown> | undefined;
      do {
        const query = {
          TableName: name,
          KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
          ExpressionAttributeValues: { ":partition": partition, ":from": from, ":to": to },
          ...(start ? { ExclusiveStartKey: start } : {}),
          ...reads,
        };
        const answer = await call(() => client.send(new QueryCommand(query)));
        spend("readUnits", answer.ConsumedCapacity);
        items.push(...((answer.Items ?? []) as Item[]));
        start = answer.LastEvaluatedKey;
      } while (start);
      return items;
    },

    async commit(plan) {
      const startedAt = Date.now();
      for (let attempt = 1; ; attempt++) {
        const { writes, value } = await plan();
        if (writes.length === 0) return value;
        const transaction = new TransactWriteCommand({
          TransactItems: writes.map((write) => toTransactItem(name, write)),
          ReturnConsumedCapacity: "TOTAL",
        });
        try {
          const answer = await call(() => client.send(transaction));
          spend("writeUnits", answer.ConsumedCapacity);
          return value;
        } catch (error) {
          const refusal = refusalOf(error, writes);
          if (refusal !== contention) throw refusal;
          if (Date.now() - startedAt > deadlineMs) {
            throw new Problem("busy", "Too many changes at once to the same thing. Try again.", { retry_after: 1 });
          }
          await backOff(attempt);
        }
      }
    },
  };
}

/** Full jitter: up to 5 ms doubling to 320 ms, so that a burst of writers to one list spreads out. */
async function backOff(attempt: number): Promise<void> {
  const longestMs = 5 * 2 ** Math.min(attempt, 6);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));
}
