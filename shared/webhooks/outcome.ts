import type { DeliveryAttempt, StoredDelivery } from "./delivery.ts";
import { nextAttempt } from "./schedule.ts";

/** One attempt, and how long the receiver asks to be left alone. */
export type Tried = { attempt: DeliveryAttempt; retryAfterSeconds?: number | undefined };

const shownAttempts = 20;

/** A delivery with one more attempt, and nothing decided from it. */
function noted(delivery: StoredDelivery, attempt: DeliveryAttempt, now: Date): StoredDelivery {
  return {
    ...delivery,
    attempts: [...delivery.attempts, attempt].slice(-shownAttempts),
    attempt_count: delivery.attempt_count + 1,
    updated_at: now.toISOString(),
    lease_until: null,
    version: delivery.version + 1,
  };
}

/** What a delivery is after an attempt by the schedule: over when it was accepted, gone (410) or the last one. */
export function afterTry(
  delivery: StoredDelivery,
  { attempt, retryAfterSeconds }: Tried,
  now: Date,
  random?: () => number,
): StoredDelivery {
  const tries = delivery.tries + 1;
  const next = { ...noted(delivery, attempt, now), tries };
  if (attempt.error === null) return { ...next, status: "succeeded", next_attempt_at: null };
  const again = isGone(attempt) ? undefined : nextAttempt(tries, now, retryAfterSeconds, random);
  return { ...next, status: again ? "pending" : "failed", next_attempt_at: again?.toISOString() ?? null };
}

/** What a delivery is after an attempt by hand: accepted, or as before. */
export function afterManual(delivery: StoredDelivery, { attempt }: Tried, now: Date): StoredDelivery {
  const next = noted(delivery, attempt, now);
  return attempt.error === null ? { ...next, status: "succeeded", next_attempt_at: null } : next;
}

/** What a delivery is when nothing is sent of it any more, with the reason as its last attempt. */
export function afterAbandoning(
  delivery: StoredDelivery,
  error: "webhook_disabled" | "webhook_deleted",
  now: Date,
): StoredDelivery {
  const attempt = { attempted_at: now.toISOString(), status_code: null, error, duration_ms: 0 };
  const { attempt_count } = delivery;
  return { ...noted(delivery, attempt, now), attempt_count, status: "failed", next_attempt_at: null };
}

/** Failures that say nothing of the receiver. */
const ours: ReadonlySet<DeliveryAttempt["error"]> = new Set(["internal_error", "webhook_disabled", "webhook_deleted"]);

/** Whether the receiver is why an attempt failed. */
export const isReceivers = ({ error }: DeliveryAttempt): boolean => error !== null && !ours.has(error);

/** Whether the receiver says that it wants no more of this (RFC 9110, section 15.5.11). */
export const isGone = ({ status_code }: DeliveryAttempt): boolean => status_code === 410;
