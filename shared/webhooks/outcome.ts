import { randomUUID } from "node:crypto";

import * as z from "zod";

import { type Change, change } from "../changes/kind.ts";
import { type Commit, recorder } from "../changes/recorder.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { DeliveryAttempt, StoredDelivery } from "./delivery.ts";
import { nextAttempt } from "./schedule.ts";
import { type StoredWebhook, findWebhook, putWebhook, webhookKind } from "./webhook.ts";

/** One attempt, and how long the receiver asks us to wait. */
export type Tried = { attempt: DeliveryAttempt; retryAfterSeconds?: number | undefined };

const shownAttempts = 20;

/** A delivery with one more attempt; its status does not change. */
function withAttempt(delivery: StoredDelivery, attempt: DeliveryAttempt, now: Date): StoredDelivery {
  return {
    ...delivery,
    attempts: [...delivery.attempts, attempt].slice(-shownAttempts),
    attempt_count: delivery.attempt_count + 1,
    updated_at: now.toISOString(),
    lease_until: null,
    version: delivery.version + 1,
  };
}

/**
 * A delivery after a scheduled attempt. It ends when it was accepted, when the receiver is gone (410), or after the
 * last attempt.
 */
export function afterTry(
  delivery: StoredDelivery,
  { attempt, retryAfterSeconds }: Tried,
  now: Date,
  random?: () => number,
): StoredDelivery {
  const tries = delivery.tries + 1;
  const next = { ...withAttempt(delivery, attempt, now), tries };
  if (attempt.error === null) return { ...next, status: "succeeded", next_attempt_at: null };
  const again = isGone(attempt) ? undefined : nextAttempt(tries, now, retryAfterSeconds, random);
  return { ...next, status: again ? "pending" : "failed", next_attempt_at: again?.toISOString() ?? null };
}

/** A delivery after a manual attempt: succeeded when it was accepted, else in the same status. */
export function afterManual(delivery: StoredDelivery, { attempt }: Tried, now: Date): StoredDelivery {
  const next = withAttempt(delivery, attempt, now);
  return attempt.error === null ? { ...next, status: "succeeded", next_attempt_at: null } : next;
}

/** A delivery that is given up, with the reason as its last attempt. */
export function afterAbandoning(
  delivery: StoredDelivery,
  error: "webhook_disabled" | "webhook_deleted",
  now: Date,
): StoredDelivery {
  const attempt = { attempted_at: now.toISOString(), status_code: null, error, duration_ms: 0 };
  const { attempt_count } = delivery;
  return { ...withAttempt(delivery, attempt, now), attempt_count, status: "failed", next_attempt_at: null };
}

/** Failures for which the receiver is not responsible. */
const ours: ReadonlySet<DeliveryAttempt["error"]> = new Set(["internal_error", "webhook_disabled", "webhook_deleted"]);

/** Whether an attempt failed because of the receiver. */
export const isReceiverFault = ({ error }: DeliveryAttempt): boolean => error !== null && !ours.has(error);

/** Whether the receiver wants no more deliveries (RFC 9110, section 15.5.11). */
const isGone = ({ status_code }: DeliveryAttempt): boolean => status_code === 410;

/*
 * The last success of a webhook, and the time since which it is failing. The item is written when the state changes,
 * and otherwise at most once a minute. Of two attempts at the same time, one may overwrite the state of the other. The
 * next attempt corrects it.
 */
export const successKey = (accountId: string, webhookId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `WEBHOOK_SUCCESS#${webhookId}`,
});

const betweenMs = 60_000;
/** Longer than a delivery is retried. An older success does not matter. */
const keptSeconds = 40 * 86_400;

const Success = z.object({ last_success_at: z.string().optional(), failing_since: z.string().optional() });
type WebhookRef = { account_id: string; webhook_id: string };

const readOutcome = (table: Reader, { account_id, webhook_id }: WebhookRef) =>
  table.get(successKey(account_id, webhook_id), Success);

const ttlFrom = (now: Date): number => Math.ceil(now.getTime() / 1_000) + keptSeconds;

/** The write that records a success of a webhook and ends its failing state. */
export const successWrite = ({ account_id, webhook_id }: WebhookRef, now: Date): Write => ({
  update: successKey(account_id, webhook_id),
  set: { last_success_at: now.toISOString(), ttl: ttlFrom(now) },
  remove: ["failing_since"],
});

/** Records a success, unless one was recorded within the last minute and nothing has failed since. */
export async function noteSuccess(table: Table, webhook: WebhookRef, now: Date): Promise<void> {
  const success = await readOutcome(table, webhook);
  const atMost = new Date(now.getTime() - betweenMs).toISOString();
  const isNoted = success?.last_success_at !== undefined && success.last_success_at > atMost;
  if (!isNoted || success.failing_since !== undefined) await table.attempt(successWrite(webhook, now));
}

/** Records that a webhook is failing, unless that is recorded already. */
export async function noteFailure(table: Table, webhook: WebhookRef, now: Date): Promise<void> {
  const success = await readOutcome(table, webhook);
  if (success?.failing_since !== undefined) return;
  const update = successKey(webhook.account_id, webhook.webhook_id);
  await table.attempt({ update, set: { failing_since: now.toISOString(), ttl: ttlFrom(now) } });
}

/** Whether a success was recorded at or after a given time. */
async function hasSucceededSince(table: Reader, webhook: WebhookRef, since: string): Promise<boolean> {
  const { last_success_at } = (await readOutcome(table, webhook)) ?? {};
  return last_success_at !== undefined && last_success_at >= since;
}

/** The ids of the webhooks that are recorded as failing. No webhook may be given twice. */
export async function failingAmong(table: Reader, webhooks: readonly WebhookRef[]): Promise<Set<string>> {
  const rows = await table.getMany(webhooks.map(({ account_id, webhook_id }) => successKey(account_id, webhook_id)));
  const isFailing = (index: number): boolean => rows[index]?.["failing_since"] !== undefined;
  return new Set(webhooks.flatMap(({ webhook_id }, index) => (isFailing(index) ? [webhook_id] : [])));
}

/** A `commit` for the changes that the delivery of webhooks makes in an account by itself. */
export const systemCommit = (table: Table, accountId: string, now: () => Date): Commit =>
  recorder({
    table,
    accountId,
    author: {
      action: "system: webhooks.deliver",
      actor: { type: "system", id: "webhooks" },
      requestId: randomUUID(),
    },
    now,
  });

/**
 * Why a failed delivery disables its webhook: the receiver answered 410, or has accepted nothing since the delivery was
 * created. Undefined if the delivery does not disable it.
 */
async function disablingReason(table: Reader, delivery: StoredDelivery): Promise<"gone" | "failing" | undefined> {
  const last = delivery.attempts.at(-1);
  if (delivery.status !== "failed" || !last) return undefined;
  if (isGone(last)) return "gone";
  if (!isReceiverFault(last)) return undefined;
  return (await hasSucceededSince(table, delivery, delivery.created_at)) ? undefined : "failing";
}

/** The writes and the change that disable the webhook of a delivery, when the result of the delivery requires it. */
export async function planDisabling(
  table: Reader,
  delivery: StoredDelivery,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const reason = await disablingReason(table, delivery);
  const old = reason && (await findWebhook(table, delivery.account_id, delivery.webhook_id));
  if (!reason || old?.status !== "active") return { writes: [], changes: [] };
  const at = now.toISOString();
  const disabled: StoredWebhook = {
    ...old,
    status: "disabled",
    disabled_reason: reason,
    disabled_at: at,
    updated_at: at,
    version: old.version + 1,
  };
  return {
    writes: [putWebhook(disabled)],
    changes: [change(webhookKind, "disabled", old.id, { before: old, after: disabled })],
  };
}
