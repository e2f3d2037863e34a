import { createHash } from "node:crypto";

import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { inParallel } from "./parallel.ts";

/*
 * What is to be tried at an instant. Each pending delivery has one item here, written and moved by the
 * transactions that change the delivery, so that a process that dies loses nothing. An account's are all in one
 * shard, so that its backlog is in the way of few others.
 *
 * Access patterns
 *   deliveries due by an instant   WEBHOOK_DUE#<shard> / <due time>#<account id>#<webhook id>#<delivery id>
 */
type Place = { account_id: string; webhook_id: string; id: string };
export type Due = Place & { at: string };

const shards = Array.from({ length: 64 }, (_, shard) => shard);
const keptSeconds = 10 * 86_400;

const shardOf = ({ account_id }: Place): number =>
  createHash("sha256").update(account_id).digest().readUInt8(0) % shards.length;

const partition = (shard: number): string => `WEBHOOK_DUE#${shard}`;

export const dueKey = (place: Place, at: string): Key => ({
  PK: partition(shardOf(place)),
  SK: `${at}#${place.account_id}#${place.webhook_id}#${place.id}`,
});

/** The write that has a delivery tried at an instant (RFC 3339, UTC, milliseconds). */
export const dueWrite = (place: Place, at: string): Write => ({
  put: { ...dueKey(place, at), ttl: Math.ceil(Date.parse(at) / 1_000) + keptSeconds },
});

/** The writes that move a delivery from one instant to another; null is none. */
export const moveDue = (place: Place, from: string | null, to: string | null): Write[] =>
  from === to
    ? []
    : [...(from === null ? [] : [{ delete: dueKey(place, from) }]), ...(to === null ? [] : [dueWrite(place, to)])];

/** Beyond the backlog of a failing webhook, for the others of its shard; some 200 bytes each. */
const shardLimit = 10_000;
const shardsAtOnce = 8;
/** As many as a sweep tries in all. */
const webhookLimit = 200;

/** What is due, the earliest first: the first 200 of each webhook, among the first 10,000 of each shard. */
export async function readDue(table: Reader, now: Date): Promise<Due[]> {
  const until = `${now.toISOString()}~`;
  const read = async (shard: number): Promise<Due[]> => {
    const items = await table.between(partition(shard), "!", until, { limit: shardLimit });
    return firstOfEach(items.map(({ SK }) => dueOf(SK)));
  };
  const due: Due[] = [];
  for (const shard of await inParallel(shards, shardsAtOnce, read)) {
    if (shard.status === "rejected") throw shard.reason;
    due.push(...shard.value);
  }
  return due.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}

function firstOfEach(due: readonly Due[]): Due[] {
  const counts = new Map<string, number>();
  return due.filter(({ webhook_id }) => {
    const count = (counts.get(webhook_id) ?? 0) + 1;
    counts.set(webhook_id, count);
    return count <= webhookLimit;
  });
}

function dueOf(sortKey: string): Due {
  const [at = "", account_id = "", webhook_id = "", id = ""] = sortKey.split("#");
  return { at, account_id, webhook_id, id };
}
