import { minuteMs } from "../core/time.ts";
import * as due from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/**
 * The wait after each failed attempt, in minutes: ten attempts over about 76 hours, nearly as Standard Webhooks
 * recommends.
 */
const waitsMinutes = [1, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
/** How long a delivery is retried, in milliseconds, without the variation and without `Retry-After`. */
export const retriedForMs = waitsMinutes.reduce((sum, wait) => sum + wait, 0) * minuteMs;
const jitter = 0.1;
/** The longest wait that a receiver can ask for, in seconds. */
const longestRetryAfterSeconds = 86_400;

/**
 * The time of the next attempt after the failed attempt with this number (from 1); undefined after the last attempt.
 * The wait varies by ±10 %. The wait is at least `retryAfterSeconds`, but a `retryAfterSeconds` of more than a day
 * counts as a day. `random` is in [0, 1).
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
  const seconds = Math.max(waitSeconds, Math.min(retryAfterSeconds, longestRetryAfterSeconds));
  return new Date(now.getTime() + Math.round(seconds * 1_000));
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait in seconds, from 0 to a day, that a `Retry-After` asks for (RFC 9110, section 10.2.3). The value is a number
 * of seconds or a date in the format IMF-fixdate. Undefined for any other value.
 */
export function readRetryAfterSeconds(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return withinADay(Number(text));
  const atMs = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : withinADay(Math.ceil((atMs - now.getTime()) / 1_000));
}

const withinADay = (seconds: number): number => Math.min(Math.max(seconds, 0), longestRetryAfterSeconds);

/** The queue of due deliveries; the account, the webhook and the delivery identify a task. */
export const webhookQueue: due.Queue = { name: "WEBHOOK_DUE", shards: 64 };

type DeliveryRef = { account_id: string; webhook_id: string; id: string };
export type DueDelivery = DeliveryRef & { at: string };

const taskOf = ({ account_id, webhook_id, id }: DeliveryRef): due.TaskSubject => [account_id, webhook_id, id];

/** The key of a delivery in the queue at its due time. */
export const dueKey = (ref: DeliveryRef, at: string): Key => due.dueKey(webhookQueue, taskOf(ref), at);

/** The write that schedules a delivery for a given time (RFC 3339, UTC, milliseconds). */
export const dueWrite = (ref: DeliveryRef, at: string): Write => due.dueWrite(webhookQueue, taskOf(ref), at);

/** The writes that move a delivery from one due time to another; null means that the delivery is not in the queue. */
export const moveDue = (ref: DeliveryRef, from: string | null, to: string | null): Write[] =>
  due.moveDue(webhookQueue, taskOf(ref), from, to);

/**
 * Reads due deliveries: up to 10,000 of each shard, and of these at most `perWebhook` of each webhook. Returns the
 * earliest first.
 */
export async function readDue(table: Reader, now: Date, perWebhook = Infinity): Promise<DueDelivery[]> {
  const shards = await due.readDue(table, webhookQueue, now);
  return shards
    .flatMap((shard) => firstOfEach(perWebhook, shard.map(dueOf)))
    .toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}

/** The first `perWebhook` deliveries of each webhook, in the same order. */
export function firstOfEach(perWebhook: number, all: readonly DueDelivery[]): DueDelivery[] {
  const counts = new Map<string, number>();
  return all.filter(({ webhook_id }) => {
    const count = (counts.get(webhook_id) ?? 0) + 1;
    counts.set(webhook_id, count);
    return count <= perWebhook;
  });
}

function dueOf({ at, subject }: { at: string; subject: readonly string[] }): DueDelivery {
  const [account_id = "", webhook_id = "", id = ""] = subject;
  return { at, account_id, webhook_id, id };
}
