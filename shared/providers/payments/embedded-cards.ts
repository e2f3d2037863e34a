import { randomBytes } from "node:crypto";

import * as z from "zod";

import { notFound } from "../../core/errors.ts";
import { Timestamp } from "../../core/time.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import {
  AmountRefused,
  type CardSetupInput,
  type CardSetupState,
  type ChargeInput,
  type ChargeState,
  type Refund,
  type SavedCard,
} from "./payments.ts";
import { cardMissing, confirmationNeeded } from "./stripe-charges.ts";
import { expirySeconds, stripeVersion } from "./stripe-objects.ts";

/*
 * The saved cards and the charges of the embedded payments. No money moves.
 *
 * Access patterns
 *   a page for saving a card       CARD_SETUP#<id> / SETUP
 *   a saved card                   CARD#<id> / CARD
 *   a charge, and all charges      CHARGES / CHARGE#<reference>
 *   the refunds and the dispute    PAYMENT#<payment> / RETURNS
 */
const setupKey = (id: string): Key => ({ PK: `CARD_SETUP#${id}`, SK: "SETUP" });
const cardKey = (id: string): Key => ({ PK: `CARD#${id}`, SK: "CARD" });
const chargeKey = (reference: string): Key => ({ PK: "CHARGES", SK: `CHARGE#${reference}` });
const returnsKey = (paymentId: string): Key => ({ PK: `PAYMENT#${paymentId}`, SK: "RETURNS" });

/**
 * The result when a test card is charged. A `disputes` card works like a `works` card: a button of the local page
 * disputes the payment.
 */
const Behaviour = z.enum(["works", "declined", "confirm", "disputes"]);
type Behaviour = z.output<typeof Behaviour>;

/** The numbers of the test cards: Stripe's own (https://docs.stripe.com/testing). */
export const testCards: Readonly<Record<Behaviour, { number: string; text: string }>> = {
  works: { number: "4242424242424242", text: "Every charge succeeds" },
  declined: { number: "4000000000000341", text: "Can be saved, but every charge is declined" },
  confirm: { number: "4000002760003184", text: "Every charge needs a confirmation by the payer" },
  disputes: { number: "4000000000000259", text: "Every charge succeeds. Dispute it at /_local/payments" },
};

const StoredCard = z.object({
  id: z.string(),
  last4: z.string(),
  exp_month: z.int(),
  exp_year: z.int(),
  behaviour: Behaviour,
});

const StoredSetup = z.object({
  id: z.string(),
  reference: z.string(),
  account_id: z.string(),
  customer_id: z.string(),
  success_url: z.string().optional(),
  cancel_url: z.string().optional(),
  expires_at: Timestamp,
  card_id: z.string().optional(),
});
export type StoredSetup = z.output<typeof StoredSetup>;

const StoredCharge = z.object({
  id: z.string(),
  reference: z.string(),
  account_id: z.string(),
  card_id: z.string(),
  amount: z.int(),
  currency: z.string(),
  status: z.enum(["succeeded", "action_required", "failed"]),
  reason: z.string().optional(),
  created_at: Timestamp,
});
export type StoredCharge = z.output<typeof StoredCharge>;

/** The id of an account's customer. Customers are not stored: `accountOfCustomer` reads the account's id in this id. */
export const customerOf = (accountId: string): string => `cus_local_${accountId}`;
export const accountOfCustomer = (id: string): string | undefined => /^cus_local_(.+)$/.exec(id)?.[1];

/** Opens a page for saving a card. A repeat with the same reference returns the same page. */
export function addCardSetup(table: Table, input: CardSetupInput, now: Date): Promise<StoredSetup> {
  return table.commit(async () => {
    const id = `cs_setup_${input.reference.replaceAll("-", "")}`;
    const known = await table.get(setupKey(id), StoredSetup);
    const setup: StoredSetup = known ?? {
      id,
      reference: input.reference,
      account_id: input.accountId,
      customer_id: input.customerId,
      success_url: input.successUrl,
      cancel_url: input.cancelUrl,
      expires_at: new Date(expirySeconds(input.expiresAt, now) * 1_000).toISOString(),
    };
    return { value: setup, writes: known ? [] : [{ put: { ...setupKey(id), ...setup }, if: "absent" }] };
  });
}

/** The page with this id. Throws 404 `not_found`. */
export async function getSetup(table: Reader, id: string): Promise<StoredSetup> {
  const setup = /^cs_setup_\w{1,200}$/.test(id) ? await table.get(setupKey(id), StoredSetup) : undefined;
  if (!setup) throw notFound();
  return setup;
}

/** The state of the page with this id. Throws 404 `not_found`. */
export async function cardSetup(table: Reader, id: string, now: Date): Promise<CardSetupState> {
  const { reference, account_id: accountId, card_id, expires_at } = await getSetup(table, id);
  const card = card_id === undefined ? undefined : await table.get(cardKey(card_id), StoredCard);
  if (card) return { id, status: "saved", reference, accountId, card: savedCard(card) };
  return { id, status: expires_at <= now.toISOString() ? "expired" : "open", reference, accountId };
}

const savedCard = ({ id, last4, exp_month, exp_year }: z.output<typeof StoredCard>): SavedCard => ({
  id,
  brand: "visa",
  last4,
  expMonth: exp_month,
  expYear: exp_year,
});

/** A card as a payer enters it. */
export const EnteredCard = z.object({
  number: z.string().transform((text) => text.replaceAll(/\D/g, "")),
  exp_month: z.coerce.number().pipe(z.int().min(1).max(12)),
  exp_year: z.coerce.number().pipe(z.int().min(2000).max(2199)),
});

/**
 * Saves the card that a payer entered on the page `id`. Throws 404 if there is no such page. Returns undefined:
 * - if the page has expired, or has saved a card already;
 * - if the number is not the number of a test card.
 */
export function saveCard(
  table: Table,
  id: string,
  entered: z.output<typeof EnteredCard>,
  now: Date,
): Promise<StoredSetup | undefined> {
  return table.commit(async () => {
    const setup = await getSetup(table, id);
    const behaviour = Behaviour.options.find((name) => testCards[name].number === entered.number);
    const isOpen = setup.card_id === undefined && setup.expires_at > now.toISOString();
    if (!behaviour || !isOpen) return { value: undefined, writes: [] };
    const { exp_month, exp_year } = entered;
    const card_id = `pm_local_${randomBytes(12).toString("hex")}`;
    const card = { id: card_id, last4: entered.number.slice(-4), exp_month, exp_year, behaviour };
    return {
      value: { ...setup, card_id },
      writes: [
        { put: { ...cardKey(card_id), ...card }, if: "absent" },
        { put: { ...setupKey(id), ...setup, card_id }, if: "present" },
      ],
    };
  });
}

export async function removeCard(table: Table, id: string): Promise<void> {
  await table.attempt({ delete: cardKey(id) });
}

/**
 * The least amount of a payment, in minor units of its currency. Stripe's least amount is 0.50 USD, and similar amounts
 * in other currencies (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts).
 */
const leastAmount = 50;

/** The error for an amount that is too small for a payment; undefined for other amounts. */
export const refusedAmount = (amount: number): AmountRefused | undefined =>
  amount < leastAmount ? new AmountRefused(true) : undefined;

/** Charges a card once for each reference. */
export function chargeOnce(table: Table, input: ChargeInput, now: Date): Promise<StoredCharge> {
  return table.commit(async () => {
    const { reference, accountId, cardId, amount, currency } = input;
    const known = await table.get(chargeKey(reference), StoredCharge);
    if (known) return { value: known, writes: [] };
    const card = await table.get(cardKey(cardId), StoredCard);
    const charge: StoredCharge = {
      id: `pi_local_${reference}`,
      reference,
      account_id: accountId,
      card_id: cardId,
      amount,
      currency,
      ...chargeOutcome(amount, card, now),
      created_at: now.toISOString(),
    };
    return { value: charge, writes: [{ put: { ...chargeKey(reference), ...charge }, if: "absent" }] };
  });
}

function chargeOutcome(
  amount: number,
  card: z.output<typeof StoredCard> | undefined,
  now: Date,
): Pick<StoredCharge, "status" | "reason"> {
  if (!card) return { status: "failed", reason: cardMissing };
  const refused = refusedAmount(amount);
  if (refused) return { status: "failed", reason: refused.message };
  if (new Date(Date.UTC(card.exp_year, card.exp_month)) <= now)
    return { status: "failed", reason: "The card has expired." };
  if (card.behaviour === "declined") return { status: "failed", reason: "The bank declined the payment." };
  if (card.behaviour === "confirm") return { status: "action_required", reason: confirmationNeeded };
  return { status: "succeeded" };
}

export const chargeState = ({
  id,
  status,
  reference,
  account_id,
  amount,
  currency,
  reason,
}: StoredCharge): ChargeState => ({
  id,
  status,
  reference,
  accountId: account_id,
  amount,
  currency,
  ...(reason === undefined ? {} : { reason }),
});

/** The charge with this id. Throws 404 `not_found`. */
export async function getStoredCharge(table: Reader, id: string): Promise<StoredCharge> {
  const [, reference] = /^pi_local_([\w-]{1,200})$/.exec(id) ?? [];
  const charge = reference === undefined ? undefined : await table.get(chargeKey(reference), StoredCharge);
  if (!charge) throw notFound();
  return charge;
}

/** The newest 50 charges, the newest first. */
export async function listCharges(table: Reader): Promise<StoredCharge[]> {
  const rows = await table.between("CHARGES", "CHARGE#", "CHARGE#~", { limit: 50, newestFirst: true });
  return rows.map((row) => StoredCharge.parse(row));
}

/** A payment that can be paid back: a succeeded charge or a paid checkout. */
export type LocalPayment = { id: string; accountId: string; amount: number; currency: string };

const StoredReturns = z.object({
  /** The sum of the refunds that did not fail. */
  refunded: z.int().default(0),
  dispute: z.enum(["none", "needs_response", "won", "lost"]).default("none"),
  /**
   * All refunds, oldest first. Absent in rows of earlier versions. Such a row has only the sum `refunded`, which counts
   * as one refund.
   */
  refunds: z.array(z.object({ id: z.string(), amount: z.int(), isFailed: z.boolean() })).optional(),
});
export type Returns = z.output<typeof StoredReturns> & { refunds: Refund[] };

export async function readReturns(table: Reader, paymentId: string): Promise<Returns> {
  const stored = (await table.get(returnsKey(paymentId), StoredReturns)) ?? StoredReturns.parse({});
  const { refunded } = stored;
  const first = refunded === 0 ? [] : [{ id: refundId(paymentId, 1), amount: refunded, isFailed: false }];
  return { ...stored, refunds: stored.refunds ?? first };
}

const refundId = (paymentId: string, number: number): string => `re_${number}_${paymentId}`;

/** The actions on a payment. With `fail-refund` the bank cannot deliver the last refund. */
export const ReturnAct = z.enum(["refund", "refund-half", "fail-refund", "dispute", "win", "lose"]);
export type ReturnAct = z.output<typeof ReturnAct>;

/** Refunds or disputes a payment, or changes a refund or a dispute. Undefined if the action is not possible. */
export function returnPayment(table: Table, payment: LocalPayment, act: ReturnAct): Promise<Returns | undefined> {
  return table.commit(async () => {
    const before = await readReturns(table, payment.id);
    const after = afterAct(before, act, payment);
    if (!after) return { value: undefined, writes: [] };
    return { value: after, writes: [{ put: { ...returnsKey(payment.id), ...after } }] };
  });
}

function afterAct(before: Returns, act: ReturnAct, { id: paymentId, amount }: LocalPayment): Returns | undefined {
  const { refunded, dispute, refunds } = before;
  if (act === "dispute")
    return dispute === "none" && refunded < amount ? { ...before, dispute: "needs_response" } : undefined;
  if (act === "win" || act === "lose")
    return dispute === "needs_response" ? { ...before, dispute: act === "win" ? "won" : "lost" } : undefined;
  if (act === "fail-refund") {
    const last = refunds.findLast(({ isFailed }) => !isFailed);
    if (!last) return undefined;
    const failed = refunds.map((refund) => (refund === last ? { ...refund, isFailed: true } : refund));
    return { ...before, refunded: refunded - last.amount, refunds: failed };
  }
  if (refunded >= amount || (dispute !== "none" && dispute !== "won")) return undefined;
  const left = amount - refunded;
  const given = act === "refund" ? left : Math.min(left, Math.ceil(amount / 2));
  const refund: Refund = { id: refundId(paymentId, refunds.length + 1), amount: given, isFailed: false };
  return { ...before, refunded: refunded + given, refunds: [...refunds, refund] };
}

const eventBody = (id: string, type: string, object: object, now: Date): string =>
  JSON.stringify({
    id: `evt_${id}`,
    object: "event",
    api_version: stripeVersion,
    created: Math.floor(now.getTime() / 1_000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    type,
  });

/** The event that reports a saved card, in Stripe's form. */
export const savedEventBody = ({ id, reference, account_id, customer_id }: StoredSetup, now: Date): string =>
  eventBody(
    id,
    "checkout.session.completed",
    {
      id,
      object: "checkout.session",
      mode: "setup",
      status: "complete",
      customer: customer_id,
      client_reference_id: reference,
      metadata: { account_id, reference },
      setup_intent: id.replace("cs_", "seti_"),
    },
    now,
  );

/** The event that reports a refund or a dispute of a payment, in Stripe's form. */
export function returnEventBody(payment: LocalPayment, act: ReturnAct, returns: Returns, now: Date): string {
  const { id, amount, currency } = payment;
  const common = { payment_intent: id, currency: currency.toLowerCase() };
  const name = `${act}_${returns.refunds.length}_${returns.refunded}_${id}`;
  if (act === "refund" || act === "refund-half")
    return eventBody(
      name,
      "charge.refunded",
      { object: "charge", amount, amount_refunded: returns.refunded, ...common },
      now,
    );
  if (act === "fail-refund") {
    const failed = returns.refunds.findLast(({ isFailed }) => isFailed);
    const refund = { id: failed?.id, object: "refund", amount: failed?.amount, status: "failed", ...common };
    return eventBody(name, "refund.failed", refund, now);
  }
  const dispute = {
    id: `du_${id}`,
    object: "dispute",
    amount: amount - returns.refunded,
    reason: "fraudulent",
    status: returns.dispute,
    ...common,
  };
  return eventBody(name, act === "dispute" ? "charge.dispute.created" : "charge.dispute.closed", dispute, now);
}
