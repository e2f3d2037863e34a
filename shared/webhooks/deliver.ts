import { type Log, createLog } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { runtime } from "../http/runtime.ts";
import { type Table, openTable } from "../table/table.ts";
import { type Loaded, type StoredDelivery, deliveryKey, leaseFrom, updateWrite } from "./delivery.ts";
import {
  type Tried,
  afterAbandoning,
  afterTry,
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

type Sending = WebhookServices & { log: Log; now: () => Date; timeoutMs?: number };

/**
 * Signs and sends a delivery once, and returns the result. Never throws. A failure on our side counts as an attempt, so
 * a webhook whose secret cannot be opened is retried only as often as the schedule allows.
 */
export async function tryOnce(
  webhook: StoredWebhook,
  { id }: Pick<StoredDelivery, "id">,
  body: string,
  sending: Sending,
): Promise<Tried> {
  const at = sending.now();
  const attempted_at = at.toISOString();
  try {
    const headers = sign(await signingSecrets(sending.secrets, webhook, at), id, at, body);
    const { allowLoopback, timeoutMs } = sending;
    const options = { allowLoopback, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const sent = await send({ url: webhook.url, headers, body }, options);
    const { statusCode = null, error = null, durationMs, retryAfterSeconds } = sent;
    return { attempt: { attempted_at, status_code: statusCode, error, duration_ms: durationMs }, retryAfterSeconds };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    sending.log.error("webhook not sent", { account_id: webhook.account_id, webhook_id: webhook.id, reason });
    return { attempt: { attempted_at, status_code: null, error: "internal_error", duration_ms: 0 } };
  }
}

/** The tools of the delivery workers; `random`, in [0, 1), spreads the retries. */
export type DeliveryContext = Sending & { table: Table; random?: () => number };

/** The status of a delivery after it was tried; `skipped` when another worker has the delivery. */
export type DeliverResult = StoredDelivery["status"] | "skipped";

/** Thrown when another worker changed the delivery in the meantime. */
class Superseded extends Error {}

/** Claims a delivery for one attempt; undefined when another worker claimed it. */
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
 * Writes in one transaction the new state of a delivery, the time of its next attempt, and whether its webhook is
 * disabled. Writes nothing if another worker changed the delivery in the meantime.
 */
async function settleDelivery(
  before: StoredDelivery,
  after: StoredDelivery,
  { table, now }: DeliveryContext,
): Promise<DeliverResult> {
  const at = now();
  const { account_id } = before;
  try {
    return await systemCommit(
      table,
      account_id,
      () => at,
    )(async () => {
      const { writes, changes } = await planDisabling(table, after, at);
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
 * Tries a pending delivery once and writes the result, unless another worker has claimed it. Throws when the table
 * fails; the delivery then stays due.
 */
export async function deliver({ delivery, body, webhook }: Loaded, work: DeliveryContext): Promise<DeliverResult> {
  const { lease_until } = delivery;
  if (lease_until !== null && lease_until > work.now().toISOString()) return "skipped";
  if (webhook?.status !== "active") {
    const reason = webhook ? "webhook_disabled" : "webhook_deleted";
    return settleDelivery(delivery, afterAbandoning(delivery, reason, work.now()), work);
  }
  const claimed = await claim(delivery, work);
  return claimed ? deliverClaimed({ delivery: claimed, body, webhook }, work) : "skipped";
}

/** Tries a delivery once that this worker has claimed, and writes the result. Throws when the table fails. */
export async function deliverClaimed(
  { delivery, body, webhook }: Loaded & { webhook: StoredWebhook },
  work: DeliveryContext,
): Promise<DeliverResult> {
  const tried = await tryOnce(webhook, delivery, body, work);
  const turn = await settleDelivery(delivery, afterTry(delivery, tried, work.now(), work.random), work);
  if (tried.attempt.error === null) await noteSuccess(work.table, delivery, work.now());
  else if (isReceiverFault(tried.attempt)) await noteFailure(work.table, delivery, work.now());
  return turn;
}

/** The tools of the delivery workers in this process. Reads the environment when called, not at import. */
export function openWork(worker: string): DeliveryContext {
  const { env, client } = runtime();
  return {
    ...webhookServices(),
    table: openTable(client, env.TABLE_NAME),
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    now: clock,
  };
}
