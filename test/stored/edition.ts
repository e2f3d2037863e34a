import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

import { BatchWriteCommand, ScanCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

import type { Item } from "../../shared/table/writes.ts";
import type { Example } from "../support/examples.ts";

/**
 * A call of a route by the owner of an account. `answer` is the answer of the edition that stored the rows. A write has
 * no answer.
 */
export type FrozenCall = { route: string; args: Example; ownerId: string; answer?: unknown };

/** Values in the frozen rows, for the tests that do not read the rows through routes. */
export type Facts = {
  email: string;
  password: string;
  masterPassword: string;
  /** Absent in editions without app passwords. */
  appPassword?: string;
  domain: string;
  boughtName: string;
  unpaidCheckoutId: string;
  limitedAccountId: string;
  feedbackId: string;
};

/** All rows that an edition of the product stored, and calls that read and change the rows. */
export type Edition = {
  frozenAt: string;
  /** The key that seals the secrets in the rows. It was made for the tests. */
  secretsKey: string;
  superAdminId: string;
  calls: FrozenCall[];
  facts: Facts;
  items: Item[];
};

const folder = import.meta.dirname;

const toText = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString("base64") } : value;

function fromText(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("$bytes" in value)) return value;
  return new Uint8Array(Buffer.from(String(value.$bytes), "base64"));
}

/** The names of all frozen editions, oldest first. */
export const editionNames = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".json.gz"))
    .map((file) => file.replace(/\.json\.gz$/, ""))
    .toSorted();

const fileOf = (name: string): string => join(folder, `${name}.json.gz`);

/** A frozen edition. */
export const readEdition = (name: string): Edition =>
  JSON.parse(gunzipSync(readFileSync(fileOf(name))).toString(), fromText) as Edition;

/** The SHA-256 of an edition's file. The file of a frozen edition must never change. */
export const digestOf = (name: string): string =>
  createHash("sha256")
    .update(readFileSync(fileOf(name)))
    .digest("hex");

/** Writes an edition to its file. */
export function writeEdition(name: string, edition: Edition): void {
  writeFileSync(fileOf(name), gzipSync(JSON.stringify(edition, toText), { level: 9 }), { flag: "wx" });
}

/** All items of a table. */
export async function allItems(client: DynamoDBDocumentClient, table: string): Promise<Item[]> {
  const items: Item[] = [];
  let start: Record<string, unknown> | undefined;
  do {
    const page = await client.send(new ScanCommand({ TableName: table, ExclusiveStartKey: start }));
    items.push(...((page.Items ?? []) as Item[]));
    start = page.LastEvaluatedKey;
  } while (start);
  return items;
}

/**
 * An item without its `ttl`, if this is the time at which the table deletes the item. The `ttl` of a DNS record is a
 * short time in seconds, and stays.
 */
const lasting = ({ ttl, ...item }: Item): Item => (Number(ttl) < 1e9 ? { ...item, ttl } : item);

/** Puts items into a table, without the times at which the table would delete them. */
export async function putItems(client: DynamoDBDocumentClient, table: string, items: readonly Item[]): Promise<void> {
  for (let from = 0; from < items.length; from += 25) {
    const requests = items.slice(from, from + 25).map((item) => ({ PutRequest: { Item: lasting(item) } }));
    await client.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }));
  }
}
