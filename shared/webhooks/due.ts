import * as due from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/** The deliveries to be tried, each at its place: account, webhook, delivery. */
const queue: due.Queue = { name: "WEBHOOK_DUE", shards: 64 };

type Place = { account_id: string; webhook_id: string; id: string };
export type Due = Place & { at: string };

const placeOf = ({ account_id, webhook_id, id }: Place): due.Place => [account_id, webhook_id, id];

export const dueKey = (place: Place, at: string): Key => due.dueKey(queue, placeOf(place), at);

/** The write that has a delivery tried at an instant (RFC 3339, UTC, milliseconds). */
export const dueWrite = (place: Place, at: string): Write => due.dueWrite(queue, placeOf(place), at);

/** The writes that move a delivery from one instant to another; null is none. */
export const moveDue = (place: Place, from: string | null, to: string | null): Write[] =>
  due.moveDue(queue, placeOf(place), from, to);

/** As many as a sweep tries in all. */
const webhookLimit = 200;

/** What is due, the earliest first: the first 200 of each webhook, among the first 10,000 of each shard. */
export async function readDue(table: Reader, now: Date): Promise<Due[]> {
  const shards = await due.readDue(table, queue, now);
  return shards
    .flatMap((shard) => firstOfEach(shard.map(dueOf)))
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}

/** Beyond the backlog of a failing webhook, for the others of its shard. */
function firstOfEach(all: readonly Due[]): Due[] {
  const counts = new Map<string, number>();
  return all.filter(({ webhook_id }) => {
    const count = (counts.get(webhook_id) ?? 0) + 1;
    counts.set(webhook_id, count);
    return count <= webhookLimit;
  });
}

function dueOf({ at, place }: { at: string; place: readonly string[] }): Due {
  const [account_id = "", webhook_id = "", id = ""] = place;
  return { at, account_id, webhook_id, id };
}
