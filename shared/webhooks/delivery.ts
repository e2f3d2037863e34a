import * as z from "zod";

import { Id } from "../core/ids.ts";
import { Timestamp, dayMs } from "../core/time.ts";
import { type Journal, entryKey } from "../table/journal-keys.ts";
import { appendEntries } from "../table/journal.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { dueWrite } from "./schedule.ts";
import { StoredWebhook, WebhookParams, webhookKey } from "./webhook.ts";

/*
 * Access patterns (the journal: shared/table/journal.ts)
 *   deliveries of a webhook, newest first, and one by id   ACCOUNT#<id> / JOURNAL#deliveries/<webhook id>
 *   the body of a delivery                                 ACCOUNT#<id> / DELIVERY_BODY#<webhook id>#<delivery id>
 *   due deliveries                                         shared/table/due.ts
 */
const retentionDays = 30;

/** The journal of a webhook's deliveries. */
export const deliveriesOf = (accountId: string, webhookId: string): Journal => ({
  partition: `ACCOUNT#${accountId}`,
  name: `deliveries/${webhookId}`,
  retentionDays,
});

export const DeliveryParams = WebhookParams.extend({ delivery_id: Id.meta({ description: "The delivery's id." }) });

export const DeliveryStatus = z.enum(["pending", "succeeded", "failed"]);

const AttemptError = z.enum([
  "blocked_address",
  "dns_failed",
  "connect_failed",
  "tls_failed",
  "timed_out",
  "invalid_answer",
  "redirected",
  "unsuccessful_status",
  "internal_error",
  "webhook_disabled",
  "webhook_deleted",
]);

const DeliveryAttempt = z
  .object({
    attempted_at: Timestamp.meta({ description: "When the attempt was made." }),
    status_code: z.int().nullable().meta({ description: "The HTTP status of the answer, if there was an answer." }),
    error: AttemptError.nullable().meta({
      description:
        "Why the attempt failed. Null if the receiver accepted the delivery. With `webhook_disabled` and `webhook_deleted`, nothing was sent.",
    }),
    duration_ms: z.int().meta({ description: "How long the attempt took, in milliseconds." }),
  })
  .meta({ id: "WebhookDeliveryAttempt", description: "One attempt to deliver an event, and its result." });
export type DeliveryAttempt = z.output<typeof DeliveryAttempt>;

export const Delivery = z
  .object({
    id: Id.meta({
      description: "The delivery's id. It is the id of the event, and the header `webhook-id` of every attempt.",
    }),
    webhook_id: Id.meta({ description: "The webhook." }),
    event_type: z.string().meta({ description: "The type of the event, such as `workspace.created`." }),
    status: DeliveryStatus.meta({
      description:
        "`pending` while attempts are made, `succeeded` after the receiver accepted an attempt, `failed` when no further attempt is planned.",
    }),
    attempts: z.array(DeliveryAttempt).meta({ description: "The last 20 attempts, in the order in which they ended." }),
    attempt_count: z
      .int()
      .meta({ description: "How many attempts were made, including those by `webhooks.deliveries.redeliver`." }),
    next_attempt_at: Timestamp.nullable().meta({
      description: "When the next attempt is due. Null if there is none.",
    }),
    created_at: Timestamp.meta({ description: "When the delivery was created." }),
    updated_at: Timestamp.meta({ description: "When the delivery last changed." }),
  })
  .meta({ id: "WebhookDelivery", description: "The delivery of one event to one webhook. Kept for 30 days." });

export const StoredDelivery = Delivery.extend({
  account_id: z.string(),
  /** The number of scheduled attempts, without the manual attempts. */
  tries: z.int(),
  /** The time until which no other worker can claim the delivery. */
  lease_until: z.string().nullable(),
  version: z.int(),
});
export type StoredDelivery = z.output<typeof StoredDelivery>;

const StoredBody = z.object({ body: z.string() });

export type DeliveryRef = Pick<StoredDelivery, "account_id" | "webhook_id" | "id">;

export const deliveryKey = ({ account_id, webhook_id, id }: DeliveryRef): Key =>
  entryKey(deliveriesOf(account_id, webhook_id), id);
const bodyKey = ({ account_id, webhook_id, id }: DeliveryRef): Key => ({
  PK: `ACCOUNT#${account_id}`,
  SK: `DELIVERY_BODY#${webhook_id}#${id}`,
});

/** How long a claim lasts, in milliseconds. A claim lasts longer than an attempt takes. */
const leaseMs = 60_000;

/** The end of a claim that begins now. */
export const leaseFrom = (now: Date): string => new Date(now.getTime() + leaseMs).toISOString();

/**
 * A new delivery, not sent yet. The sweep tries the delivery at `nextAttemptAt`. With null, the sweep never tries the
 * delivery.
 */
export function newDelivery(
  ref: DeliveryRef & Pick<StoredDelivery, "event_type">,
  nextAttemptAt: Date | null,
  now: Date,
): StoredDelivery {
  const at = now.toISOString();
  return {
    id: ref.id,
    account_id: ref.account_id,
    webhook_id: ref.webhook_id,
    event_type: ref.event_type,
    status: "pending",
    attempts: [],
    attempt_count: 0,
    tries: 0,
    next_attempt_at: nextAttemptAt?.toISOString() ?? null,
    created_at: at,
    updated_at: at,
    lease_until: null,
    version: 1,
  };
}

/** The writes that create a delivery with its body, and schedule its next attempt, if there is one, for the sweep. */
export const createWrites = (delivery: StoredDelivery, body: string, now: Date): Write[] => {
  const ttl = Math.ceil((now.getTime() + (retentionDays + 2) * dayMs) / 1_000);
  return [
    ...appendEntries(deliveriesOf(delivery.account_id, delivery.webhook_id), [delivery], now),
    { put: { ...bodyKey(delivery), body, ttl } },
    ...(delivery.next_attempt_at === null ? [] : [dueWrite(delivery, delivery.next_attempt_at)]),
  ];
};

/** The write that stores a new version of a delivery. The write fails unless the preceding version is stored now. */
export const updateWrite = ({ attempts, version, ...rest }: StoredDelivery): Write => ({
  update: deliveryKey(rest),
  set: {
    status: rest.status,
    attempts,
    attempt_count: rest.attempt_count,
    tries: rest.tries,
    next_attempt_at: rest.next_attempt_at,
    updated_at: rest.updated_at,
    lease_until: rest.lease_until,
    version,
  },
  if: { id: rest.id, version: version - 1 },
});

export type LoadedDelivery = { delivery: StoredDelivery; body: string; webhook: StoredWebhook | undefined };

/** The items that `loadDelivery` reads. */
export const aheadOfDelivery = (ref: DeliveryRef): Ahead => ({
  keys: [deliveryKey(ref), bodyKey(ref), webhookKey(ref.account_id, ref.webhook_id)],
});

/**
 * Reads a delivery, its body and its webhook; undefined if the delivery does not exist or is past its retention.
 * `webhook` is undefined if the webhook was deleted.
 */
export async function loadDelivery(table: Reader, ref: DeliveryRef, now: Date): Promise<LoadedDelivery | undefined> {
  const { account_id, webhook_id } = ref;
  const keys = [deliveryKey(ref), bodyKey(ref), webhookKey(account_id, webhook_id)];
  const [deliveryRow, bodyRow, webhookRow] = await table.getMany(keys);
  const oldestMs = (Math.floor(now.getTime() / dayMs) - retentionDays) * dayMs;
  if (!deliveryRow || !bodyRow) return undefined;
  const delivery = StoredDelivery.parse(deliveryRow);
  // The age is counted from `created_at`, not from the time in the id. The id has the time of the event, which is
  // earlier than the delivery if the event was replayed.
  if (Date.parse(delivery.created_at) < oldestMs) return undefined;
  const webhook = webhookRow?.["id"] === webhook_id ? StoredWebhook.parse(webhookRow) : undefined;
  return { delivery, body: StoredBody.parse(bodyRow).body, webhook };
}
