import type { Log } from "../core/log.ts";
import { workerContext } from "../http/worker.ts";
import type { Table } from "../table/table.ts";
import { type LoadedDelivery, StoredDelivery, deliveryKey, leaseFrom, updateWrite } from "./delivery.ts";
import {
  type AttemptResult,
  afterAbandoning,
  afterCancelling,
  afterTry,
  isActiveSince,
  isReceiverFault,
  noteFailure,
  noteSuccess,
  planDisabling,
  systemCommit,
} from "./outcome.ts";
import { moveDue } from "./schedule.ts";
import { send } from "./send.ts";
import { type WebhookServices, webhookServices } from "./services.ts";
import { sign, signingSecrets } from "./signing.ts";
import type { StoredWebhook } from "./webhook.ts";

type SendContext = WebhookServices & { log: Log; now: () => Date; timeoutMs?: number };

/**
 * Signs and sends a delivery once, and returns the result. Never throws. An internal error counts as an attempt too. So
 * if a secret cannot be opened, the delivery is retried only as often as the schedule allows.
 */
export async function tryOnce(
  webhook: StoredWebhook,
  { id }: Pick<StoredDelivery, "id">,
  body: string,
  context: SendContext,
): Promise<AttemptResult> {
  const at = context.now();
  const attempted_at = at.toISOString();
  try {
    // Receivers compare the time of the signature with their own clock. So a clock that is set ahead does not count.
    const headers = sign(await signingSecrets(context.secrets, webhook, at), id, new Date(), body);
    const { allowLoopback, timeoutMs } = context;
    const options = { allowLoopback, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const sent = await send({ url: webhook.url, headers, body }, options);
    const { statusCode = null, error = null, durationMs, retryAfterSeconds } = sent;
    return { attempt: { attempted_at, status_code: statusCode, error, duration_ms: durationMs }, retryAfterSeconds };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    context.log.error("webhook not sent", { account_id: webhook.account_id, webhook_id: webhook.id, reason });
    return { attempt: { attempted_at, status_code: null, error: "internal_error", duration_ms: 0 } };
  }
}

/** The services of the delivery workers. `random`, in [0, 1), spreads the retries. */
export type DeliveryContext = SendContext & { table: Table; random?: () => number };

/**
 * The status of a delivery after `deliver`; `abandoned` if the delivery failed because its webhook was disabled or
 * deleted, and `skipped` if another worker has claimed or changed the delivery.
 */
export type DeliverResult = StoredDelivery["status"] | "abandoned" | "skipped";

/** Thrown if the delivery has changed since it was read. */
class Superseded extends Error {}

/** Claims a delivery for one attempt; undefined if the delivery has changed since it was read. */
async function claim(delivery: StoredDelivery, { table, now }: DeliveryContext): Promise<StoredDelivery | undefined> {
  const { id, version } = delivery;
  const lease = leaseFrom(now());
  const { done } = await table.attempt({
    update: deliveryKey(delivery),
    set: { lease_until: lease },
    add: { version: 1 },
    if: { id, version },
  });
  return done ? { ...delivery, lease_until: lease, version: version + 1 } : undefined;
}

/**
 * Writes the new state of a delivery, and in the same transaction schedules its next attempt and disables its webhook
 * if required. Writes nothing and returns `skipped` if the delivery has changed since it was read.
 */
async function settleDelivery(
  before: StoredDelivery,
  after: StoredDelivery,
  { table, now }: DeliveryContext,
): Promise<DeliverResult> {
  const commit = systemCommit(table, before.account_id, now);
  try {
    return await commit(async () => {
      const { writes, changes } = await planDisabling(table, after, now());
      const update = { ...updateWrite(after), orElse: () => new Superseded() };
      const due = moveDue(before, before.next_attempt_at, after.next_attempt_at);
      return { value: after.status, writes: [update, ...due, ...writes], changes, housekeeping: true };
    });
  } catch (error) {
    if (error instanceof Superseded) return "skipped";
    throw error;
  }
}

/**
 * Writes the result of an attempt that was claimed. Returns `skipped` if the claim has ended. A manual attempt changes
 * the delivery, but does not end the claim. After such a change, the result is added to the changed delivery.
 */
async function settleTry(
  claimed: StoredDelivery,
  tried: AttemptResult,
  context: DeliveryContext,
): Promise<DeliverResult> {
  const { table, now, random } = context;
  const result = await settleDelivery(claimed, afterTry(claimed, tried, now(), random), context);
  if (result !== "skipped") return result;
  const current = await table.get(deliveryKey(claimed), StoredDelivery);
  return current?.lease_until === claimed.lease_until ? settleTry(current, tried, context) : "skipped";
}

/**
 * Tries a pending delivery once and writes the result, unless another worker has claimed the delivery. If the webhook
 * is not active, or was disabled after the delivery was created, the delivery fails without an attempt. Throws if the
 * table fails; the delivery then stays due.
 */
export async function deliver(
  { delivery, body, webhook }: LoadedDelivery,
  context: DeliveryContext,
): Promise<DeliverResult> {
  const { lease_until } = delivery;
  if (lease_until !== null && lease_until > context.now().toISOString()) return "skipped";
  if (!webhook || !isActiveSince(webhook, delivery.created_at)) {
    const abandoned = webhook
      ? afterCancelling(delivery, webhook)
      : afterAbandoning(delivery, "webhook_deleted", context.now());
    const settled = await settleDelivery(delivery, abandoned, context);
    return settled === "skipped" ? settled : "abandoned";
  }
  const claimed = await claim(delivery, context);
  return claimed ? deliverClaimed({ delivery: claimed, body, webhook }, context) : "skipped";
}

/** Makes one attempt of a delivery that this worker has claimed, and writes the result. Throws if the table fails. */
export async function deliverClaimed(
  { delivery, body, webhook }: LoadedDelivery & { webhook: StoredWebhook },
  context: DeliveryContext,
): Promise<DeliverResult> {
  const { table, now } = context;
  const tried = await tryOnce(webhook, delivery, body, context);
  const result = await settleTry(delivery, tried, context);
  if (tried.attempt.error === null) await noteSuccess(table, delivery, now());
  else if (isReceiverFault(tried.attempt)) await noteFailure(table, webhook, now());
  return result;
}

/** The services of the delivery workers in this process. Reads the environment when called, not at import. */
export const openWork = (worker: string): DeliveryContext => ({ ...webhookServices(), ...workerContext(worker) });
