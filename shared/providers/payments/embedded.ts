import { createHmac, randomBytes } from "node:crypto";

import * as z from "zod";

import { notFound, Problem } from "../../core/errors.ts";
import { clock, Timestamp } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import {
  accountOfCustomer,
  addCardSetup,
  cardSetup,
  chargeOnce,
  chargeState,
  customerOf,
  getStoredCharge,
  readReturns,
  refusedAmount,
  removeCard,
  type LocalPayment,
} from "./embedded-cards.ts";
import type { Payments, CheckoutInput, CheckoutStatus, PaymentEvent } from "./payments.ts";
import { readPaymentEvent, expirySeconds, stripeVersion } from "./stripe-objects.ts";

export type EmbeddedOptions = {
  /** The secret that signs webhooks. */
  webhookSecret: string;
  /** The origin of the checkout pages. */
  baseUrl: string;
  now?: () => Date;
};

/**
 * Payments without a provider. The table has the checkouts, and a page of the local runtime settles them. No money
 * moves.
 */
export function embeddedPayments(table: Table, options: EmbeddedOptions): Payments {
  const { webhookSecret, baseUrl, now = clock } = options;
  const urlOf = ({ id }: StoredCheckout): string => new URL(`/_local/checkout/${id}`, baseUrl).href;
  return {
    createCheckout: async (input) => {
      const checkout = await addCheckout(table, input, now());
      return { id: checkout.id, url: urlOf(checkout), expiresAt: new Date(checkout.expires_at) };
    },
    readEvent: (body, headers, at) =>
      readPaymentEvent(body, headers["stripe-signature"], [webhookSecret], at, {
        cardSetup: (session) => cardSetup(table, z.object({ id: z.string() }).parse(session).id, now()),
        accountOfPayment: async (id) => (await readPayment(table, id))?.accountId,
        refundsOf: async (id) => (await readReturns(table, id)).refunds,
        accountOfCustomer: async (id) => accountOfCustomer(id),
      }),
    createCustomer: async ({ accountId }) => customerOf(accountId),
    createCardSetup: async (input) => {
      const { id, expires_at } = await addCardSetup(table, input, now());
      return { id, url: new URL(`/_local/card/${id}`, baseUrl).href, expiresAt: new Date(expires_at) };
    },
    getCardSetup: (id) => cardSetup(table, id, now()),
    removeCard: (id) => removeCard(table, id),
    charge: async (input) => chargeState(await chargeOnce(table, input, now())),
    getCharge: async (id) => chargeState(await getStoredCharge(table, id)),
    expireCheckout: async (id) => {
      await settleCheckout(table, id, "close", now());
    },
    getCheckout: async (id) => {
      const checkout = await getStoredCheckout(table, id);
      const status = checkoutStatus(checkout, now());
      const { reference, account_id: accountId, amount, currency, expires_at } = checkout;
      return {
        id,
        status,
        reference,
        accountId,
        amount,
        currency,
        expiresAt: new Date(expires_at),
        ...(status === "open" ? { url: urlOf(checkout) } : {}),
      };
    },
  };
}

/*
 * Access patterns
 *   a checkout by its id                        CHECKOUT#<id> / CHECKOUT
 *   the checkout that an idempotency key made   CHECKOUT#KEY#<key> / CHECKOUT
 */
const checkoutKey = (id: string): Key => ({ PK: `CHECKOUT#${id}`, SK: "CHECKOUT" });
const idempotencyKey = (key: string): Key => ({ PK: `CHECKOUT#KEY#${key}`, SK: "CHECKOUT" });

const StoredCheckout = z.object({
  id: z.string(),
  reference: z.string(),
  account_id: z.string(),
  amount: z.int(),
  currency: z.string(),
  description: z.string(),
  success_url: z.string().optional(),
  cancel_url: z.string().optional(),
  created_at: Timestamp,
  expires_at: Timestamp,
  /** The result of the checkout. An `open` checkout may have expired. `settled_at` is the time of the result. */
  outcome: z.enum(["open", "paid", "failed", "expired"]),
  settled_at: Timestamp.optional(),
});
export type StoredCheckout = z.output<typeof StoredCheckout>;
type PaymentEventType = PaymentEvent["type"];

function newCheckout(input: CheckoutInput, now: Date): StoredCheckout {
  return {
    id: `cs_local_${randomBytes(18).toString("hex")}`,
    reference: input.reference,
    account_id: input.accountId,
    amount: input.amount,
    currency: input.currency,
    description: input.description,
    success_url: input.successUrl,
    cancel_url: input.cancelUrl,
    created_at: now.toISOString(),
    expires_at: new Date(expirySeconds(input.expiresAt, now) * 1_000).toISOString(),
    outcome: "open",
  };
}

const isSameCheckout = (kept: StoredCheckout, input: CheckoutInput): boolean =>
  kept.reference === input.reference &&
  kept.account_id === input.accountId &&
  kept.amount === input.amount &&
  kept.currency === input.currency;

/**
 * Stores a new checkout, or returns the checkout with the same key. Throws if that checkout has another reference,
 * account, amount or currency. Throws `AmountRefused` for an amount that is too small.
 */
function addCheckout(table: Table, input: CheckoutInput, now: Date): Promise<StoredCheckout> {
  return table.commit(async () => {
    const claim = idempotencyKey(input.idempotencyKey);
    const known = await table.get(claim, z.object({ checkout_id: z.string() }));
    if (known) {
      const kept = await getStoredCheckout(table, known.checkout_id);
      if (!isSameCheckout(kept, input)) throw new Error("This idempotency key belongs to another checkout.");
      return { writes: [], value: kept };
    }
    const refused = refusedAmount(input.amount);
    if (refused) throw refused;
    const checkout = newCheckout(input, now);
    return {
      writes: [
        { put: { ...claim, checkout_id: checkout.id }, if: "absent" },
        { put: { ...checkoutKey(checkout.id), ...checkout }, if: "absent" },
      ],
      value: checkout,
    };
  });
}

/** The checkout with this id. Throws 404 `not_found`. */
export async function getStoredCheckout(table: Table, id: string): Promise<StoredCheckout> {
  const checkout = /^cs_local_[0-9a-f]{36}$/.test(id) ? await table.get(checkoutKey(id), StoredCheckout) : undefined;
  if (!checkout) throw notFound();
  return checkout;
}

/** A payment that was made, which is a succeeded charge or a paid checkout. Undefined for any other id. */
export async function readPayment(table: Table, id: string): Promise<LocalPayment | undefined> {
  const isCharge = id.startsWith("pi_local_");
  const found = await (isCharge ? getStoredCharge(table, id) : getStoredCheckout(table, id)).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
  });
  if (!found) return undefined;
  const isPaid = "outcome" in found ? found.outcome === "paid" : found.status === "succeeded";
  const { account_id: accountId, amount, currency } = found;
  return isPaid ? { id, accountId, amount, currency } : undefined;
}

/**
 * The status of a checkout by its outcome. `failed` becomes `processing`, because at Stripe too, a checkout stays
 * `processing` if its payment is refused after the payer has completed the page.
 */
const statuses = { open: "open", paid: "paid", failed: "processing", expired: "expired" } as const;

export const checkoutStatus = ({ outcome, expires_at }: StoredCheckout, now: Date): CheckoutStatus =>
  outcome === "open" && expires_at <= now.toISOString() ? "expired" : statuses[outcome];

/**
 * An action on a checkout. `pay-late` is a payment that was made before the end of the checkout, and is reported after
 * this end.
 */
export const Act = z.enum(["pay", "decline", "close", "pay-late"]);
export type Act = z.output<typeof Act>;

const outcomes = { pay: "paid", decline: "failed", close: "expired", "pay-late": "paid" } as const;

/**
 * Whether an action is still possible on a checkout. `pay-late` is also possible on a checkout that is paid already. It
 * then changes nothing, but the payment can be reported again.
 */
function isPossible(act: Act, checkout: StoredCheckout, now: Date): boolean {
  const status = checkoutStatus(checkout, now);
  if (act === "pay-late") return status === "expired" || status === "paid";
  return act === "close" ? checkout.outcome === "open" : status === "open";
}

/**
 * Ends a checkout by an action. Undefined if the action is not possible any more, such as after another caller's
 * action.
 */
export function settleCheckout(table: Table, id: string, act: Act, now: Date): Promise<StoredCheckout | undefined> {
  return table.commit(async () => {
    const checkout = await getStoredCheckout(table, id);
    if (!isPossible(act, checkout, now)) return { writes: [], value: undefined };
    if (checkout.outcome === "paid") return { writes: [], value: checkout };
    const changes = { outcome: outcomes[act], settled_at: now.toISOString() };
    return {
      writes: [{ update: checkoutKey(id), set: changes, if: { outcome: checkout.outcome } }],
      value: { ...checkout, ...changes },
    };
  });
}

const secondsOf = (timestamp: string): number => Math.floor(Date.parse(timestamp) / 1_000);

const eventTypes: Record<PaymentEventType, string> = {
  paid: "checkout.session.completed",
  failed: "checkout.session.async_payment_failed",
  expired: "checkout.session.expired",
};

/**
 * The body of the event that reports the result of a settled checkout, in Stripe's form. The body has the same bytes
 * each time. Throws for an open checkout.
 */
export function eventBodyOf(checkout: StoredCheckout): string {
  const { id, outcome, settled_at, created_at, expires_at, reference, account_id, amount, currency } = checkout;
  if (outcome === "open" || settled_at === undefined) throw new Error("An open checkout has no outcome yet.");
  const session = {
    id,
    object: "checkout.session",
    amount_subtotal: amount,
    amount_total: amount,
    cancel_url: checkout.cancel_url ?? null,
    client_reference_id: reference,
    created: secondsOf(created_at),
    currency: currency.toLowerCase(),
    expires_at: secondsOf(expires_at),
    livemode: false,
    metadata: { account_id, reference },
    mode: "payment",
    payment_status: outcome === "paid" ? "paid" : "unpaid",
    status: outcome === "expired" ? "expired" : "complete",
    success_url: checkout.success_url ?? null,
    url: null,
  };
  return JSON.stringify({
    id: id.replace("cs_", `evt_${outcome}_`),
    object: "event",
    api_version: stripeVersion,
    created: secondsOf(settled_at),
    data: { object: session },
    livemode: false,
    pending_webhooks: 1,
    type: eventTypes[outcome],
  });
}

/** The `stripe-signature` header for a body sent now (https://docs.stripe.com/webhooks/signature). */
export function stripeSignature(body: string, secret: string, now: Date): string {
  const t = Math.floor(now.getTime() / 1_000);
  return `t=${t},v1=${createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")}`;
}
