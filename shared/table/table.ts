import type { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import type * as z from "zod";

import { type TableClient, type Connection, type Usage, roundTrip } from "./client.ts";
import { commit, type Plan } from "./commit.ts";
import { scalars } from "./failures.ts";
import { between, get, getMany, type RangeOptions } from "./reads.ts";
import type { SeenItems } from "./seen-items.ts";
import { type Item, type Key, type Write, toTransactItem } from "./writes.ts";

/** The reads of the table. All but `glimpse` are strongly consistent. */
export type Reader = {
  /** One item, parsed; undefined when there is none. */
  get: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /**
   * Like `get`, but the item may be stale. If the table remembers the item (`seen`), returns the remembered item. If
   * not, makes an eventually consistent read, at half the price. Use `glimpse` only for a pointer that the caller
   * checks against its target.
   */
  glimpse: <S extends z.ZodType>(key: Key, schema: S) => Promise<z.output<S> | undefined>;
  /**
   * Drops the results that were read ahead. Call `dropAhead` before reads whose order matters. Undefined without
   * read-ahead.
   */
  dropAhead?: () => void;
  /** The items that this process saw last; undefined for a table that does not remember any. */
  seen?: SeenItems;
  /** Items unparsed, in the order of `keys`. Usually takes one round trip for every 100 items. */
  getMany: (keys: Key[]) => Promise<(Item | undefined)[]>;
  /** The items of a partition with sort keys from `from` to `to`, both included, in ascending or descending order. */
  between: (partition: string, from: string, to: string, options?: RangeOptions) => Promise<Item[]>;
};

/** The table as resources see it. */
export type Table = Reader & {
  /**
   * Makes one write outside of any transaction, at half the price. Use `attempt` only if no other write must happen
   * together with this write.
   */
  attempt: (write: Write) => Promise<Attempt>;
  /**
   * Runs `plan`, which reads and then returns up to 100 writes. Makes these writes in one transaction, so all of them
   * happen or none.
   * - A failed condition throws the error of its write's `orElse`.
   * - After a failed condition without `orElse`, or a conflict, the reads may be stale. So the whole plan runs again.
   *   If the plan does not succeed in time, throws 503 `busy`.
   * - If two transactions of this process change the same item under conditions on its attributes, the transactions are
   *   sent one after another. After any other conflict, the plan usually runs again after a random time.
   */
  commit: <T>(plan: () => Promise<Plan<T>>) => Promise<T>;
};

/**
 * How long a transaction that meets contention is tried, in milliseconds. The limit is about twice the time that 200
 * processes need to add one row each to one list, if each attempt takes 40 ms.
 */
const contentionLimitMs = 15_000;

/**
 * Opens the named table over a client. Each read and write adds its cost to `usage`. A transaction that meets
 * contention is tried for `limitMs` milliseconds.
 */
export function openTable(
  client: TableClient,
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

/**
 * The result of one write. `updated` has the attributes that an update changed or, with `returns`, the whole item after
 * the update. After a put or a deletion, `updated` is empty. If the write's condition failed, `found` has the strings
 * and numbers of the stored item, as text.
 */
export type Attempt = { done: true; updated: Record<string, unknown> } | { done: false; found: Record<string, string> };

const callOptions = { ReturnConsumedCapacity: "TOTAL", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

async function attempt(connection: Connection, write: Write): Promise<Attempt> {
  const { client, name } = connection;
  const { Put, Update, Delete } = toTransactItem(name, write);
  try {
    const { Attributes = {} } = await roundTrip(connection, "writeUnits", async () => {
      if (Put) return client.send("PutItem", { ...Put, ...callOptions });
      const ReturnValues = "returns" in write ? "ALL_NEW" : "UPDATED_NEW";
      if (Update) return client.send("UpdateItem", { ...Update, ...callOptions, ReturnValues });
      if (Delete) return client.send("DeleteItem", { ...Delete, ...callOptions });
      throw new Error("A check alone is not a write.");
    });
    return { done: true, updated: Attributes };
  } catch (error) {
    if (!isConditionFailure(error)) throw error;
    return { done: false, found: scalars(error.Item) };
  }
}

/** Compares the name of the error, because the class of the error is loaded only with the SDK. */
const isConditionFailure = (error: unknown): error is ConditionalCheckFailedException =>
  error instanceof Error && error.name === "ConditionalCheckFailedException";
