import * as z from "zod";

import { type Change, change } from "../changes/kind.ts";
import { systemAuthor } from "../changes/record.ts";
import { type Commit, recorder } from "../changes/recorder.ts";
import { later } from "../core/time.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { DeliveryAttempt, StoredDelivery } from "./delivery.ts";
import { nextAttempt, retriedForMs } from "./schedule.ts";
import { type StoredWebhook, findWebhook, putWebhook, webhookKind } from "./webhook.ts";

/** One attempt, and the wait that the receiver asks for. */
export type AttemptResult = { attempt: DeliveryAttempt; retryAfterSeconds?: number | undefined };

const keptAttempts = 20;

/** A delivery with one more attempt, not claimed by a worker. Its status does not change. */
function withAttempt(delivery: StoredDelivery, attempt: DeliveryAttempt, now: Date): StoredDelivery {
  return {
    ...delivery,
    attempts: [...delivery.attempts, attempt].slice(-keptAttempts),
    attempt_count: delivery.attempt_count + 1,
    updated_at: now.toISOString(),
    lease_until: null,
    version: delivery.version + 1,
  };
}

/**
 * A delivery after a scheduled attempt. The new status is:
 * - `succeeded` if the receiver accepted the delivery, in this attempt or in a manual attempt meanwhile
 * - `failed` if the receiver is gone (410), or if this was the last attempt
 * - `pending` in all other cases
 */
export function afterTry(
  delivery: StoredDelivery,
  { attempt, retryAfterSeconds }: AttemptResult,
  now: Date,
  random?: () => number,
): StoredDelivery {
  const tries = delivery.tries + 1;
  const next = { ...withAttempt(delivery, attempt, now), tries };
  if (attempt.error === null || delivery.status === "succeeded") {
    return { ...next, status: "succeeded", next_attempt_at: null };
  }
  const retryAt = isGone(attempt) ? undefined : nextAttempt(tries, now, retryAfterSeconds, random);
  return { ...next, status: retryAt ? "pending" : "failed", next_attempt_at: retryAt?.toISOString() ?? null };
}

/**
 * A delivery after a manual attempt. The new status is `succeeded` if the receiver accepted the delivery. Otherwise the
 * status does not change. A worker's claim stays, because its attempt may be running.
 */
export function afterManual(delivery: StoredDelivery, { attempt }: AttemptResult, now: Date): StoredDelivery {
  const next = { ...withAttempt(delivery, attempt, now), lease_until: delivery.lease_until };
  return attempt.error === null ? { ...next, status: "succeeded", next_attempt_at: null } : next;
}

/**
 * A delivery that fails without an attempt. The reason is listed as the last attempt, but not counted as an attempt.
 */
export function afterAbandoning(
  delivery: StoredDelivery,
  error: "webhook_disabled" | "webhook_deleted",
  now: Date,
): StoredDelivery {
  const attempt = { attempted_at: now.toISOString(), status_code: null, error, duration_ms: 0 };
  const { attempt_count } = delivery;
  return { ...withAttempt(delivery, attempt, now), attempt_count, status: "failed", next_attempt_at: null };
}

/** Whether a webhook has been active since a time. */
export const isActiveSince = ({ status, enabled_at }: StoredWebhook, since: string): boolean =>
  status === "active" && (enabled_at === undefined || enabled_at <= since);

/**
 * Whether a delivery is cancelled: it is pending, no worker is trying it, and its webhook has not been active since the
 * delivery was created. No worker tries a cancelled delivery.
 */
export const isCancelled = (
  { status, created_at, lease_until }: Pick<StoredDelivery, "status" | "created_at" | "lease_until">,
  webhook: StoredWebhook,
  now: Date,
): boolean =>
  status === "pending" &&
  (lease_until === null || lease_until <= now.toISOString()) &&
  !isActiveSince(webhook, created_at);

/**
 * A cancelled delivery after its failure. The failure has the time at which the webhook was disabled. If the webhook is
 * active again, the failure has the time at which it was enabled. If the delivery changed later, the failure has the
 * time of this change.
 */
export function afterCancelling(delivery: StoredDelivery, webhook: StoredWebhook): StoredDelivery {
  const since = webhook.disabled_at ?? enabledAt(webhook);
  const at = since > delivery.updated_at ? since : delivery.updated_at;
  return afterAbandoning(delivery, "webhook_disabled", new Date(at));
}

/**
 * A delivery as callers see it. A cancelled delivery is shown as failed. The sweep stores the same failure when the
 * next attempt would be due.
 */
export const shownDelivery = (delivery: StoredDelivery, webhook: StoredWebhook, now: Date): StoredDelivery =>
  isCancelled(delivery, webhook, now) ? afterCancelling(delivery, webhook) : delivery;

/** Failures for which the receiver is not responsible. */
const internalErrors: ReadonlySet<DeliveryAttempt["error"]> = new Set([
  "internal_error",
  "webhook_disabled",
  "webhook_deleted",
]);

/** Whether an attempt failed because of the receiver. */
export const isReceiverFault = ({ error }: DeliveryAttempt): boolean => error !== null && !internalErrors.has(error);

/** Whether the receiver wants no more deliveries (RFC 9110, section 15.5.11). */
const isGone = ({ status_code }: DeliveryAttempt): boolean => status_code === 410;

/*
 * Each webhook has one item with its last success and the time since which it is failing. Workers write the item when
 * the state changes, and otherwise at most once a minute. If two attempts end at the same time, the last write wins.
 * The next attempt corrects a wrong state.
 */

/** The key of the item with a webhook's last success and the time since which it is failing. */
export const outcomeKey = (accountId: string, webhookId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `WEBHOOK_SUCCESS#${webhookId}`,
});

const noteIntervalMs = 60_000;
/**
 * How long the last success is kept, in seconds. A delivery is retried for a shorter time than this. So a success that
 * is not kept any more is older than all deliveries that are still retried, and decides nothing.
 */
const outcomeKeptSeconds = 40 * 86_400;

const StoredOutcome = z.object({ last_success_at: z.string().optional(), failing_since: z.string().optional() });
type WebhookRef = { account_id: string; webhook_id: string };

const readOutcome = (table: Reader, { account_id, webhook_id }: WebhookRef) =>
  table.get(outcomeKey(account_id, webhook_id), StoredOutcome);

const ttlFrom = (now: Date): number => Math.ceil(now.getTime() / 1_000) + outcomeKeptSeconds;

/** The write that records a success of a webhook, and ends its failing state. */
export const successWrite = ({ account_id, webhook_id }: WebhookRef, now: Date): Write => ({
  update: outcomeKey(account_id, webhook_id),
  set: { last_success_at: now.toISOString(), ttl: ttlFrom(now) },
  remove: ["failing_since"],
});

/** Records a success, unless one was recorded within the last minute and nothing has failed since. */
export async function noteSuccess(table: Table, webhook: WebhookRef, now: Date): Promise<void> {
  const success = await readOutcome(table, webhook);
  const minuteAgo = new Date(now.getTime() - noteIntervalMs).toISOString();
  const isNoted = success?.last_success_at !== undefined && success.last_success_at > minuteAgo;
  if (!isNoted || success.failing_since !== undefined) await table.attempt(successWrite(webhook, now));
}

/** When a webhook was last enabled. Version 0.1.0 did not store this time, but only when the webhook last changed. */
const enabledAt = ({ enabled_at, updated_at }: StoredWebhook): string => enabled_at ?? updated_at;

/** Records that a webhook is failing. Does nothing if this was recorded already after the webhook was last enabled. */
export async function noteFailure(table: Table, webhook: StoredWebhook, now: Date): Promise<void> {
  const { account_id, id } = webhook;
  const outcome = await readOutcome(table, { account_id, webhook_id: id });
  if (outcome?.failing_since !== undefined && outcome.failing_since >= enabledAt(webhook)) return;
  const update = outcomeKey(account_id, id);
  await table.attempt({ update, set: { failing_since: now.toISOString(), ttl: ttlFrom(now) } });
}

/** The ids of the webhooks that are recorded as failing. `webhooks` must not contain a webhook twice. */
export async function failingAmong(table: Reader, webhooks: readonly WebhookRef[]): Promise<Set<string>> {
  const rows = await table.getMany(webhooks.map(({ account_id, webhook_id }) => outcomeKey(account_id, webhook_id)));
  const isFailing = (index: number): boolean => rows[index]?.["failing_since"] !== undefined;
  return new Set(webhooks.flatMap(({ webhook_id }, index) => (isFailing(index) ? [webhook_id] : [])));
}

/** A `commit` for changes without a caller, such as disabling a webhook. Their actor is the system. */
export const systemCommit = (table: Table, accountId: string, now: () => Date): Commit =>
  recorder({ table, accountId, author: systemAuthor("webhooks.deliver", "webhooks"), now });

/**
 * Whether a failed attempt disables its webhook with the reason `failing`. It disables the webhook in two cases:
 * - if it was the last attempt of the delivery, and the receiver has accepted nothing since the delivery was created
 * - if the webhook has been failing for as long as a delivery is retried. The sweep tries only a few deliveries of a
 *   failing webhook. If the webhook has many events, each delivery is tried too rarely to reach its last attempt in
 *   that time. Failures from before the webhook was enabled do not count.
 */
function failsTooLong(
  { status, created_at }: StoredDelivery,
  { failing_since, last_success_at = "" }: z.output<typeof StoredOutcome>,
  webhook: StoredWebhook,
  now: Date,
): boolean {
  if (status === "failed" && last_success_at < created_at) return true;
  const latest = later(now, -retriedForMs);
  const isSinceEnabled = failing_since !== undefined && failing_since >= enabledAt(webhook);
  return isSinceEnabled && failing_since <= latest && last_success_at <= latest;
}

/** A check that the receiver has accepted nothing since the outcome was read: a success removes `failing_since`. */
function unchangedOutcome(
  { account_id, webhook_id }: WebhookRef,
  { failing_since, last_success_at }: z.output<typeof StoredOutcome>,
): Write {
  const check = outcomeKey(account_id, webhook_id);
  if (failing_since !== undefined) return { check, if: { failing_since } };
  return { check, if: last_success_at === undefined ? "absent" : { last_success_at } };
}

/**
 * The writes and the change that disable the webhook of a delivery after an attempt. The reason is `gone` if the
 * receiver answered 410, and `failing` if the webhook has failed for too long (`failsTooLong`). Returns no writes if
 * the attempt does not disable the webhook, or if the receiver has accepted the delivery.
 */
export async function planDisabling(
  table: Reader,
  delivery: StoredDelivery,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const last = delivery.attempts.at(-1);
  if (!last || delivery.status === "succeeded" || !isReceiverFault(last)) return { writes: [], changes: [] };
  const [outcome = {}, old] = await Promise.all([
    readOutcome(table, delivery),
    findWebhook(table, delivery.account_id, delivery.webhook_id),
  ]);
  const isDisabling = isGone(last) || (old && failsTooLong(delivery, outcome, old, now));
  if (old?.status !== "active" || !isDisabling) return { writes: [], changes: [] };
  const at = now.toISOString();
  const disabled: StoredWebhook = {
    ...old,
    status: "disabled",
    disabled_reason: isGone(last) ? "gone" : "failing",
    disabled_at: at,
    updated_at: at,
    version: old.version + 1,
  };
  return {
    writes: [putWebhook(disabled), unchangedOutcome(delivery, outcome)],
    changes: [change(webhookKind, "disabled", old.id, { before: old, after: disabled })],
  };
}
