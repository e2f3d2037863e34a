import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { minuteMs } from "../../core/time.ts";
import type {
  CardRemovedEvent,
  CardSetupState,
  ChargeEvent,
  CheckoutState,
  DisputeEvent,
  PaymentEvent,
  ProviderEvent,
  Refund,
  RefundEvent,
} from "./payments.ts";
import { ChargeMetadata, isCardSetup } from "./stripe-charges.ts";

/**
 * The API version that our types and parsers expect. To upgrade, read what the new version breaks and change this line.
 */
export const stripeVersion = "2026-10-28.endive";

/** The metadata by which we recognize a checkout session of ours. */
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

/** The state of a checkout, read from a session in Stripe's shape. Throws for anything else. */
export function sessionState(given: unknown): CheckoutState {
  const session = Session.parse(given);
  const { id, status, payment_status, metadata, amount_total: amount, currency, url } = session;
  const completeStatus = payment_status === "paid" ? ("paid" as const) : ("processing" as const);
  return {
    id,
    status: status === "complete" ? completeStatus : status,
    reference: metadata.reference,
    accountId: metadata.account_id,
    amount,
    currency,
    expiresAt: new Date(session.expires_at * 1_000),
    ...(status === "open" && url !== null ? { url } : {}),
  };
}

/**
 * The shortest and the longest life of a checkout, in milliseconds. Stripe allows 30 minutes to 24 hours by its own
 * clock. A margin of one minute at each end allows for a difference between the clocks.
 */
const shortestMs = 31 * minuteMs;
const longestMs = (24 * 60 - 1) * minuteMs;

/** The allowed expiry of a checkout that is nearest to the wanted time, in whole seconds since 1970. */
export function expirySeconds(wanted: Date, now: Date): number {
  const ms = Math.min(Math.max(wanted.getTime(), now.getTime() + shortestMs), now.getTime() + longestMs);
  return Math.floor(ms / 1_000);
}

/** How far the time of a signature may be from our time, in seconds. */
const toleranceSeconds = 300;

const forged = (): Problem =>
  new Problem("malformed_request", "The webhook has no signature of the payment provider from the last 5 minutes.");

/**
 * Whether the time in the header `stripe-signature` is missing, not unique, or too far in the future. The SDK refuses
 * old signatures, but accepts signatures from the future, which would stay valid for longer.
 */
function hasInvalidTime(header: string, now: Date): boolean {
  const times = header.split(",").flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? []);
  return times.length !== 1 || Number(times[0]) - now.getTime() / 1_000 > toleranceSeconds;
}

/**
 * The object in the body. Throws unless the body was signed with one of the secrets. Loads the SDK at the first
 * webhook, because most functions get no webhook.
 */
async function verified(body: string, header: string, secrets: readonly string[], now: Date): Promise<unknown> {
  if (hasInvalidTime(header, now)) throw forged();
  const { default: Stripe } = await import("stripe");
  for (const secret of secrets) {
    try {
      return Stripe.webhooks.constructEvent(body, header, secret, toleranceSeconds, undefined, now.getTime());
    } catch {
      // The errors of the SDK contain the body, so they are not passed on.
    }
  }
  throw forged();
}

const Envelope = z.object({
  id: z.string().min(1),
  type: z.string(),
  created: z.int(),
  data: z.object({ object: z.unknown(), previous_attributes: z.unknown().optional() }),
});
type Envelope = z.output<typeof Envelope>;
const Ours = z.object({ metadata: OurMetadata });

/** The types of Stripe's events about checkout sessions that we use, and our type for each. */
const sessionTypes = new Map<string, PaymentEvent["type"]>([
  ["checkout.session.completed", "paid"],
  ["checkout.session.async_payment_succeeded", "paid"],
  ["checkout.session.async_payment_failed", "failed"],
  ["checkout.session.expired", "expired"],
]);

/** The look-ups at the provider for facts that a webhook does not contain. */
export type Lookups = {
  /** The state of a session for saving a card. */
  cardSetup: (session: unknown) => Promise<CardSetupState>;
  /** The account whose payment this is; undefined if the payment is not ours. */
  accountOfPayment: (paymentId: string) => Promise<string | undefined>;
  /** All refunds of a payment, oldest first. */
  refundsOf: (paymentId: string) => Promise<Refund[]>;
  /** The account of a customer; undefined if the customer is not ours. */
  accountOfCustomer: (customerId: string) => Promise<string | undefined>;
};

/**
 * Reads a Stripe webhook (https://docs.stripe.com/webhooks/signature, scheme v1).
 * - Undefined for an event of a type that this product does not use, for a session that is complete but not paid yet,
 *   for a dispute that is only an inquiry, and for an object that is not ours.
 * - Undefined for a body that is no event, and for a refund, a dispute or a removed card that we cannot read.
 * - Throws 400 `malformed_request` for an invalid signature.
 * - Throws an Error for a session or a charge of ours that we cannot read, so that Stripe sends the event again.
 */
export async function readPaymentEvent(
  body: string,
  header: string | undefined,
  secrets: readonly string[],
  now: Date,
  lookups: Lookups,
): Promise<ProviderEvent | undefined> {
  const { success, data: event } = Envelope.safeParse(await verified(body, header ?? "", secrets, now));
  if (!success) return undefined;
  if (event.type.startsWith("checkout.session.")) return readSession(event, lookups);
  if (event.type.startsWith("payment_intent.")) return readCharge(event);
  if (event.type.startsWith("charge.dispute.")) return readDispute(event, lookups);
  if (refundTypes.has(event.type)) return readRefund(event, lookups);
  return event.type === "payment_method.detached" ? readRemoval(event, lookups) : undefined;
}

async function readSession(event: Envelope, lookups: Lookups): Promise<ProviderEvent | undefined> {
  const type = sessionTypes.get(event.type);
  const session = event.data.object;
  if (type === undefined || !Ours.safeParse(session).success) return undefined;
  if (isCardSetup(session)) {
    const state = await lookups.cardSetup(session);
    return { ...state, id: event.id, type: "card_setup", setupId: state.id };
  }
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

const Amount = z.int().positive();
const CurrencyCode = z.string().length(3).toUpperCase();

const ChargedIntent = z.object({
  id: z.string().min(1),
  amount: Amount,
  currency: CurrencyCode,
  status: z.string(),
  metadata: ChargeMetadata,
});

function readCharge({ id, data: { object } }: Envelope): ChargeEvent | undefined {
  if (!z.object({ metadata: ChargeMetadata }).safeParse(object).success) return undefined;
  const intent = ChargedIntent.parse(object);
  return {
    id,
    type: "charge",
    chargeId: intent.id,
    reference: intent.metadata.recharge_id,
    accountId: intent.metadata.account_id,
    amount: intent.amount,
    currency: intent.currency,
    isSucceeded: intent.status === "succeeded",
  };
}

/**
 * The types of events after which the refunds of a payment are read again. The object of such an event is a charge or a
 * refund.
 */
const refundTypes = new Set([
  "charge.refunded",
  "charge.refund.updated",
  "refund.created",
  "refund.updated",
  "refund.failed",
]);

const Refunded = z.object({ payment_intent: z.string(), currency: CurrencyCode });

async function readRefund({ id, data }: Envelope, lookups: Lookups): Promise<RefundEvent | undefined> {
  const { data: refunded } = Refunded.safeParse(data.object);
  const accountId = refunded && (await lookups.accountOfPayment(refunded.payment_intent));
  if (!refunded || accountId === undefined) return undefined;
  const { payment_intent: paymentId, currency } = refunded;
  return { id, type: "refund", paymentId, accountId, refunds: await lookups.refundsOf(paymentId), currency };
}

const Disputed = z.object({
  id: z.string().min(1),
  payment_intent: z.string(),
  amount: Amount,
  currency: CurrencyCode,
  status: z.string(),
  reason: z.string(),
});

/**
 * Our status of a dispute by Stripe's status. The statuses of inquiries (`warning_…`) are left out, because an inquiry
 * takes no money. An inquiry becomes a dispute, or ends.
 */
const disputeStatuses = new Map<string, DisputeEvent["status"]>([
  ["needs_response", "open"],
  ["under_review", "open"],
  ["won", "won"],
  ["lost", "lost"],
  ["appeal_needs_response", "lost"],
  ["appeal_under_review", "lost"],
]);

async function readDispute({ id, data }: Envelope, { accountOfPayment }: Lookups): Promise<DisputeEvent | undefined> {
  const { data: dispute } = Disputed.safeParse(data.object);
  const status = disputeStatuses.get(dispute?.status ?? "");
  const accountId = dispute && status && (await accountOfPayment(dispute.payment_intent));
  if (!dispute || status === undefined || accountId === undefined) return undefined;
  const { id: disputeId, payment_intent: paymentId, amount, currency, reason } = dispute;
  return { id, type: "dispute", disputeId, paymentId, accountId, amount, currency, status, reason };
}

const Detached = z.object({
  object: z.object({ id: z.string().min(1) }),
  previous_attributes: z.object({ customer: z.string().min(1) }),
});

async function readRemoval({ id, data }: Envelope, lookups: Lookups): Promise<CardRemovedEvent | undefined> {
  const { data: detached } = Detached.safeParse(data);
  const accountId = detached && (await lookups.accountOfCustomer(detached.previous_attributes.customer));
  if (!detached || accountId === undefined) return undefined;
  return { id, type: "card_removed", accountId, cardId: detached.object.id };
}
