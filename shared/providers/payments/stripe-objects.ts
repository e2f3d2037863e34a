import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import type { CheckoutState, PaymentEvent } from "./payments.ts";

/** What types and answers are read for; an upgrade is a change of this line, after reading what it breaks. */
export const stripeVersion = "2026-10-28.endive";

/** What we leave in a checkout session to know it again. */
export const OurMetadata = z.object({ account_id: z.string().min(1), reference: z.string().min(1) });

/** The part of Stripe's Checkout Session object that an event is read from. */
const PaidSession = z.object({
  id: z.string().min(1),
  object: z.literal("checkout.session"),
  amount_total: z.int().positive(),
  currency: z.string().length(3).toUpperCase(),
  payment_status: z.enum(["paid", "unpaid", "no_payment_required"]),
  metadata: OurMetadata,
});
type PaidSession = z.output<typeof PaidSession>;

const Session = PaidSession.extend({
  status: z.enum(["open", "complete", "expired"]),
  expires_at: z.int(),
  url: z.string().nullable(),
});

/** The state that a session of Stripe's shape tells. Throws for anything else. */
export function stateOf(given: unknown): CheckoutState {
  const session = Session.parse(given);
  const { id, status, payment_status, metadata, amount_total: amount, currency, url } = session;
  const done = payment_status === "paid" ? ("paid" as const) : ("processing" as const);
  return {
    id,
    status: status === "complete" ? done : status,
    reference: metadata.reference,
    accountId: metadata.account_id,
    amount,
    currency,
    expiresAt: new Date(session.expires_at * 1_000),
    ...(status === "open" && url !== null ? { url } : {}),
  };
}

const minuteMs = 60_000;

/** Stripe takes 30 minutes to 24 hours after it made the session, by its own clock: a minute of room on both sides. */
const shortestMs = 31 * minuteMs;
const longestMs = (24 * 60 - 1) * minuteMs;

/** The instant at which a checkout made now may end, nearest to the wanted one, in whole seconds since 1970. */
export function expirySeconds(wanted: Date, now: Date): number {
  const ms = Math.min(Math.max(wanted.getTime(), now.getTime() + shortestMs), now.getTime() + longestMs);
  return Math.floor(ms / 1_000);
}

const toleranceSeconds = 300;

const forged = (): Problem =>
  new Problem("malformed_request", "This webhook was not signed by the payment provider within the last 5 minutes.");

/**
 * The instant a `stripe-signature` header says it was made at. The SDK refuses what is too old; a signature from the
 * future, which would be good for as much longer, it takes.
 */
function isAhead(header: string, now: Date): boolean {
  const times = header.split(",").flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? []);
  return times.length !== 1 || Number(times[0]) - now.getTime() / 1_000 > toleranceSeconds;
}

/** The signed object in the body. The SDK is loaded by the first webhook, as most functions never get one. */
async function verified(body: string, header: string, secret: string, now: Date): Promise<unknown> {
  if (isAhead(header, now)) throw forged();
  const { default: Stripe } = await import("stripe");
  try {
    return Stripe.webhooks.constructEvent(body, header, secret, toleranceSeconds, undefined, now.getTime());
  } catch {
    // The SDK's errors carry the body.
    throw forged();
  }
}

const Envelope = z.object({
  id: z.string().min(1),
  type: z.string(),
  created: z.int(),
  data: z.object({ object: z.unknown() }),
});
const Ours = z.object({ metadata: OurMetadata });

const types = new Map<string, PaymentEvent["type"]>([
  ["checkout.session.completed", "paid"],
  ["checkout.session.async_payment_succeeded", "paid"],
  ["checkout.session.async_payment_failed", "failed"],
  ["checkout.session.expired", "expired"],
]);

/**
 * Reads a Stripe webhook (https://docs.stripe.com/webhooks/signature, scheme v1). Undefined for other kinds, for a
 * session that is complete but not paid yet, and for one without our metadata. Throws 400 `malformed_request` for a
 * signature that does not hold, and an Error for a session of ours that we cannot read: it must come again.
 */
export async function readPaymentEvent(
  body: string,
  header: string | undefined,
  secret: string,
  now: Date,
): Promise<PaymentEvent | undefined> {
  const { success, data: event } = Envelope.safeParse(await verified(body, header ?? "", secret, now));
  if (!success) return undefined;
  const type = types.get(event.type);
  const session = event.data.object;
  if (type === undefined || !Ours.safeParse(session).success) return undefined;
  const { id, amount_total, currency, payment_status, metadata } = PaidSession.parse(session);
  if (type === "paid" && payment_status !== "paid") return undefined;
  return {
    id: event.id,
    type,
    checkoutId: id,
    reference: metadata.reference,
    accountId: metadata.account_id,
    amount: amount_total,
    currency,
    at: new Date(event.created * 1_000),
  };
}
