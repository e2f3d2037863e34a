import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * What is to be tried at an instant. Each pending delivery has one item here, written and moved by the
 * transactions that change the delivery, so that a process that dies loses nothing.
 *
 * Access patterns
 *   deliveries due by an instant   WEBHOOK_DUE#<shard> / <due time>#<account id>#<webhook id>#<delivery id>
 */
type Place = { account_id: string; webhook_id: string; id: string };
export type Due = Place & { at: string };

const shards = [0, 1, 2, 3, 4, 5, 6, 7];
const keptSeconds = 10 * 86_400;

/** The delivery's id ends in random bits. */
const shardOf = ({ id }: Place): number => Number.parseInt(id.slice(-1), 16) % shards.length;

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

const readAtOnce = 1_000;

/** What is due, up to a thousand of each shard, the earliest first. */
export async function readDue(table: Reader, now: Date): Promise<Due[]> {
  const until = `${now.toISOString()}~`;
  const read = (shard: number) => table.between(partition(shard), "!", until, { limit: readAtOnce });
  const items = (await Promise.all(shards.map(read))).flat();
  return items.map(({ SK }) => dueOf(SK)).toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

function dueOf(sortKey: string): Due {
  const [at = "", account_id = "", webhook_id = "", id = ""] = sortKey.split("#");
  return { at, account_id, webhook_id, id };
}
