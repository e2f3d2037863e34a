import { change } from "../changes/kind.ts";
import { notFound } from "../core/errors.ts";
import { timeOrderedId } from "../core/ids.ts";
import type { Context } from "../http/route.ts";
import type { Write } from "../table/writes.ts";
import { tryOnce } from "./deliver.ts";
import {
  createWrites,
  type DeliveryRef,
  type LoadedDelivery,
  loadDelivery,
  newDelivery,
  updateWrite,
  type StoredDelivery,
} from "./delivery.ts";
import { type AttemptResult, afterManual, shownDelivery, successWrite } from "./outcome.ts";
import { moveDue } from "./schedule.ts";
import type { WebhookServices } from "./services.ts";
import { bodyOf } from "./signing.ts";
import { requireToSee } from "./subscription.ts";
import { getWebhook, Webhook, webhookKey, webhookKind, type StoredWebhook } from "./webhook.ts";

/** The write that records a success, if the receiver accepted the attempt. */
const successWrites = (delivery: StoredDelivery, { attempt }: AttemptResult, now: Date): Write[] =>
  attempt.error === null ? [successWrite(delivery, now)] : [];

/**
 * The parts that the transaction of every manual attempt has: a check that the webhook exists, and the change to
 * record.
 */
const manualAttempt = (webhook: StoredWebhook, verb: "tested" | "redelivered") => ({
  check: {
    check: webhookKey(webhook.account_id, webhook.id),
    if: { id: webhook.id },
    orElse: notFound,
  } satisfies Write,
  changes: [change(webhookKind, verb, webhook.id, { before: webhook, after: webhook })],
});

/**
 * Sends a `webhook.test` event to a webhook, also to a disabled webhook, and returns the delivery. A failed test is not
 * retried. Throws 404 if there is no such webhook.
 */
export async function testWebhook(
  accountId: string,
  webhookId: string,
  context: Context,
  services: WebhookServices,
): Promise<StoredDelivery> {
  const { table, commit, now, log, principal } = context;
  const webhook = await getWebhook(table, accountId, webhookId);
  const at = now();
  const event = {
    id: timeOrderedId(at),
    type: "webhook.test",
    timestamp: at.toISOString(),
    account_id: accountId,
    actor: { type: principal.type, id: principal.id },
    resource: { type: "webhook", id: webhookId },
    data: Webhook.parse(webhook),
  };
  const body = bodyOf(event);
  const ref = { id: event.id, account_id: accountId, webhook_id: webhookId, event_type: event.type };
  const tried = await tryOnce(webhook, event, body, { ...services, log, now });
  // A new delivery is stored with version 1. A failed test is never retried, so its delivery becomes `failed` at once.
  const sent = { ...afterManual(newDelivery(ref, null, at), tried, now()), version: 1 };
  const delivery: StoredDelivery = sent.status === "pending" ? { ...sent, status: "failed" } : sent;
  const { check, changes } = manualAttempt(webhook, "tested");
  return commit(async () => ({
    value: delivery,
    writes: [check, ...createWrites(delivery, body, at), ...successWrites(delivery, tried, now())],
    changes,
  }));
}

/** Reads a delivery with its body and its webhook. Throws 404 if the delivery or its webhook does not exist. */
export async function loadToRedeliver(
  ref: DeliveryRef,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<LoadedDelivery & { webhook: StoredWebhook }> {
  const loaded = await loadDelivery(table, ref, now());
  if (!loaded?.webhook) throw notFound();
  return { ...loaded, webhook: loaded.webhook };
}

/**
 * Sends a delivery once more, in any status, with the same body and `webhook-id`. Returns the delivery. If the attempt
 * fails, the delivery keeps its status, and its retries continue as planned. Throws 404 if the delivery or its webhook
 * does not exist. Throws 403 `would_escalate` unless the caller may see the delivery's event, because the webhook's URL
 * may have changed since the event.
 */
export async function redeliver(
  ref: DeliveryRef,
  context: Context,
  services: WebhookServices,
): Promise<StoredDelivery> {
  const { commit, now, log } = context;
  const { webhook, delivery, body } = await loadToRedeliver(ref, context);
  await requireToSee(ref.account_id, [delivery.event_type], context);
  const tried = await tryOnce(webhook, delivery, body, { ...services, log, now });
  const { check, changes } = manualAttempt(webhook, "redelivered");
  return commit(async () => {
    const { delivery: before, webhook: current } = await loadToRedeliver(ref, context);
    const after = afterManual(before, tried, now());
    const due = moveDue(before, before.next_attempt_at, after.next_attempt_at);
    return {
      value: shownDelivery(after, current, now()),
      writes: [check, updateWrite(after), ...due, ...successWrites(after, tried, now())],
      changes,
    };
  });
}
