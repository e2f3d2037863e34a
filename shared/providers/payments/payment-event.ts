import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { OurMetadata, PaidSession } from "./checkout-session.ts";
import type { PaymentEvent } from "./payments.ts";

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
