import * as due from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/** The waits after each failed attempt: ten attempts over about 75 hours, as Standard Webhooks recommends. */
const waitsMinutes = [1, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
const jitter = 0.1;
const longestSeconds = 86_400;

export const attemptLimit = waitsMinutes.length + 1;

/**
 * The time of the next try after a failed attempt of this number (from 1); undefined after the last one. The waits vary
 * by ±10 %, and are no shorter than the receiver asked for, up to a day. `random` is in [0, 1).
 */
export function nextAttempt(
  attempt: number,
  now: Date,
  retryAfterSeconds = 0,
  random: () => number = Math.random,
): Date | undefined {
  const waitMinutes = waitsMinutes[attempt - 1];
  if (waitMinutes === undefined) return undefined;
  const waitSeconds = waitMinutes * 60 * (1 - jitter + 2 * jitter * random());
  const seconds = Math.max(waitSeconds, Math.min(retryAfterSeconds, longestSeconds));
  return new Date(now.getTime() + Math.round(seconds * 1_000));
}

const longestRetryAfterSeconds = 86_400;
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait that a `Retry-After` asks for, at most a day: seconds or a date (RFC 9110, section 10.2.3; of the date
 * formats only IMF-fixdate). Undefined for an unreadable value.
 */
export function readRetryAfterSeconds(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : httpDate.test(text)
      ? Math.ceil((Date.parse(text) - now.getTime()) / 1_000)
      : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), longestRetryAfterSeconds);
}

/** The queue of due deliveries; the account, the webhook and the delivery identify a task. */
const queue: due.Queue = { name: "WEBHOOK_DUE", shards: 64 };

type DeliveryRef = { account_id: string; webhook_id: string; id: string };
export type Due = DeliveryRef & { at: string };

const taskOf = ({ account_id, webhook_id, id }: DeliveryRef): due.TaskSubject => [account_id, webhook_id, id];

export const dueKey = (place: DeliveryRef, at: string): Key => due.dueKey(queue, taskOf(place), at);

/** The write that schedules a delivery for a given time (RFC 3339, UTC, milliseconds). */
export const dueWrite = (place: DeliveryRef, at: string): Write => due.dueWrite(queue, taskOf(place), at);

/** The writes that move a delivery from one due time to another; null stands for none. */
export const moveDue = (place: DeliveryRef, from: string | null, to: string | null): Write[] =>
  due.moveDue(queue, taskOf(place), from, to);

/**
 * The due deliveries, the earliest first: the first `perWebhook` of each webhook, among the first 10,000 of each shard.
 */
export async function readDue(table: Reader, now: Date, perWebhook = Infinity): Promise<Due[]> {
  const shards = await due.readDue(table, queue, now);
  return shards
    .flatMap((shard) => firstOfEach(perWebhook, shard.map(dueOf)))
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}

/** The first deliveries of each webhook. */
export function firstOfEach(perWebhook: number, all: readonly Due[]): Due[] {
  const counts = new Map<string, number>();
  return all.filter(({ webhook_id }) => {
    const count = (counts.get(webhook_id) ?? 0) + 1;
    counts.set(webhook_id, count);
    return count <= perWebhook;
  });
}

function dueOf({ at, place }: { at: string; place: readonly string[] }): Due {
  const [account_id = "", webhook_id = "", id = ""] = place;
  return { at, account_id, webhook_id, id };
}
