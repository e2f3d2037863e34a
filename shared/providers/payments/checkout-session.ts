import * as z from "zod";

import type { CheckoutState } from "./payments.ts";

/** What types and answers are read for; an upgrade is a change of this line, after reading what it breaks. */
export const stripeVersion = "2026-10-28.endive";

/** What we leave in a checkout session to know it again. */
export const OurMetadata = z.object({ account_id: z.string().min(1), reference: z.string().min(1) });

/** The part of Stripe's Checkout Session object that an event is read from. */
export const PaidSession = z.object({
  id: z.string().min(1),
  object: z.literal("checkout.session"),
  amount_total: z.int().positive(),
  currency: z.string().length(3).toUpperCase(),
  payment_status: z.enum(["paid", "unpaid", "no_payment_required"]),
  metadata: OurMetadata,
});
export type PaidSession = z.output<typeof PaidSession>;

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
