import type { Stripe } from "stripe";
import * as z from "zod";

import { AmountRefused, type CardSetupState, type ChargeInput, type ChargeState, type SavedCard } from "./payments.ts";

/**
 * The metadata by which we recognize a payment that charges a saved card. Payments of checkouts do not have this
 * metadata.
 */
export const ChargeMetadata = z.object({ account_id: z.string().min(1), recharge_id: z.string().min(1) });

/** The metadata of a customer of ours. */
export const CustomerMetadata = z.object({ metadata: z.object({ account_id: z.string().min(1) }) });

const Decline = z.object({ code: z.string().nullish(), decline_code: z.string().nullish() });

/** The part of Stripe's PaymentIntent object that the state of a charge is read from. */
const Intent = z.object({
  id: z.string().min(1),
  object: z.literal("payment_intent"),
  amount: z.int().positive(),
  currency: z.string().length(3).toUpperCase(),
  status: z.string(),
  cancellation_reason: z.string().nullish(),
  last_payment_error: Decline.nullish(),
  metadata: ChargeMetadata,
});
type Intent = z.output<typeof Intent>;

/**
 * Why a card was declined, by Stripe's codes (https://docs.stripe.com/declines/codes). Stripe asks not to tell payers
 * that a card is reported as lost or stolen.
 */
const reasons: Readonly<Record<string, string>> = {
  expired_card: "The card has expired.",
  insufficient_funds: "The card does not have enough money.",
  card_velocity_exceeded: "The card's limit is reached.",
  withdrawal_count_limit_exceeded: "The card's limit is reached.",
  currency_not_supported: "The card does not support the currency.",
  incorrect_number: "The card's number is wrong.",
  invalid_account: "The card's account does not exist any more.",
  authentication_required: "The bank wants you to confirm the payment.",
  processing_error: "The bank could not process the payment.",
  try_again_later: "The bank could not process the payment.",
};
const declined = "The bank declined the payment.";
export const confirmationNeeded = "The bank wants you to confirm the payment.";
export const cardMissing = "The card was removed. Save a card again.";

const reasonOf = ({ code, decline_code }: z.output<typeof Decline>): string =>
  reasons[decline_code ?? ""] ?? reasons[code ?? ""] ?? declined;

/** Whether a payment waits for the payer. If the payer is not present, a bank asks for the payer by a decline. */
const needsPayer = ({ status, last_payment_error: error }: Intent): boolean =>
  status === "requires_action" ||
  error?.code === "authentication_required" ||
  error?.decline_code === "authentication_required";

/** Our reason for cancelling a payment that waited for the payer. Stripe keeps this reason with the payment. */
const waitedForPayer = "abandoned";

type PaymentIntents = Pick<Stripe, "paymentIntents">;

/**
 * The final state of a payment, or `processing`. Cancels a payment that waits for anything, so that this payment never
 * takes money later. If the payment changed meanwhile, reads the payment again.
 */
export async function settledIntent(given: unknown, client: PaymentIntents): Promise<ChargeState> {
  const intent = Intent.parse(given);
  const { id, status, amount, currency, metadata, last_payment_error: error } = intent;
  const state = { id, reference: metadata.recharge_id, accountId: metadata.account_id, amount, currency };
  if (status === "succeeded" || status === "processing") return { ...state, status };
  if (status === "canceled") {
    return intent.cancellation_reason === waitedForPayer
      ? { ...state, status: "action_required", reason: confirmationNeeded }
      : { ...state, status: "failed", reason: error ? reasonOf(error) : declined };
  }
  const why = needsPayer(intent) ? waitedForPayer : "requested_by_customer";
  try {
    await client.paymentIntents.cancel(id, { cancellation_reason: why });
  } catch (failure) {
    // The payment cannot be cancelled: it has just succeeded, or another process has cancelled it.
    if (!isUnexpectedState(failure)) throw failure;
    return settledIntent(await client.paymentIntents.retrieve(id), client);
  }
  return why === waitedForPayer
    ? { ...state, status: "action_required", reason: confirmationNeeded }
    : { ...state, status: "failed", reason: error ? reasonOf(error) : declined };
}

const Failure = z.object({
  type: z.string(),
  code: z.string().nullish(),
  param: z.string().nullish(),
  message: z.string().nullish(),
  statusCode: z.int().nullish(),
  payment_intent: z.unknown(),
});
type Failure = z.output<typeof Failure>;

/** The error of ours for an error code of Stripe that refuses an amount; undefined for any other code. */
export const amountRefusalOf = (code: string | null | undefined): AmountRefused | undefined =>
  code === "amount_too_small" || code === "amount_too_large"
    ? new AmountRefused(code === "amount_too_small")
    : undefined;

/**
 * Why a charge failed, if Stripe refused to make a PaymentIntent. Undefined for an error after which the charge may
 * exist or may succeed later. Such a charge is tried again.
 */
function refusedCharge({
  type,
  code,
  param,
  message,
  statusCode,
}: Failure): Pick<ChargeState, "reason" | "refusal"> | undefined {
  if (param === "payment_method" || param === "customer") return { reason: cardMissing };
  const amount = amountRefusalOf(code);
  if (amount) return { reason: amount.message };
  // Status 409: another request with the same key is still running.
  if (type !== "StripeInvalidRequestError" || statusCode === 409) return undefined;
  return { reason: "The payment provider refused the payment.", refusal: `${code ?? type}: ${message ?? ""}` };
}

const isUnexpectedState = (error: unknown): boolean =>
  Failure.safeParse(error).data?.code === "payment_intent_unexpected_state";

/**
 * If the first attempt at a charge is older than this time, in milliseconds, the charge is searched for at Stripe
 * before the next attempt. Stripe keeps idempotency keys for a day only.
 */
const searchAfterMs = 20 * 3_600_000;

async function findIntent({ customerId, startedAt, reference }: ChargeInput, client: PaymentIntents): Promise<unknown> {
  // The search begins five minutes earlier, because Stripe's clock can be behind ours.
  const created = { gte: Math.floor(startedAt.getTime() / 1_000) - 300 };
  for await (const intent of client.paymentIntents.list({ customer: customerId, created, limit: 100 }))
    if (intent.metadata["recharge_id"] === reference) return intent;
  return undefined;
}

/** Charges a saved card: see `Payments.charge`. */
export async function chargeCard(input: ChargeInput, client: PaymentIntents, now: Date): Promise<ChargeState> {
  const { reference, accountId, customerId, cardId, amount, currency, description, startedAt } = input;
  const known = now.getTime() - startedAt.getTime() > searchAfterMs ? await findIntent(input, client) : undefined;
  if (known !== undefined) return settledIntent(known, client);
  try {
    const intent = await client.paymentIntents.create(
      {
        amount,
        currency: currency.toLowerCase(),
        customer: customerId,
        payment_method: cardId,
        allowed_payment_method_types: ["card"],
        off_session: true,
        confirm: true,
        description,
        metadata: { account_id: accountId, recharge_id: reference },
      },
      { idempotencyKey: `recharge/${reference}` },
    );
    return await settledIntent(intent, client);
  } catch (error) {
    const { data } = Failure.safeParse(error);
    if (data?.type === "StripeCardError" && data.payment_intent) return settledIntent(data.payment_intent, client);
    const refusal = data && !data.payment_intent ? refusedCharge(data) : undefined;
    if (!refusal) throw error;
    return { status: "failed", reference, accountId, amount, currency, ...refusal };
  }
}

const Card = z.object({
  id: z.string().min(1),
  card: z.object({ brand: z.string(), last4: z.string(), exp_month: z.int(), exp_year: z.int() }),
});

const Setup = z.object({
  id: z.string().min(1),
  mode: z.literal("setup"),
  status: z.enum(["open", "complete", "expired"]),
  metadata: z.object({ account_id: z.string().min(1), reference: z.string().min(1) }),
  setup_intent: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
});

/** Whether an object is a session of ours for saving a card. */
export const isCardSetup = (session: unknown): boolean => Setup.safeParse(session).success;

type SetupIntents = Pick<Stripe, "setupIntents">;

/**
 * The state of a session for saving a card. If the session is complete, asks Stripe for its card, with the time limit
 * and the retries of `options`.
 */
export async function cardSetupState(
  given: unknown,
  client: SetupIntents,
  options: Stripe.RequestOptions,
): Promise<CardSetupState> {
  const { id, status, metadata, setup_intent } = Setup.parse(given);
  const state = { id, reference: metadata.reference, accountId: metadata.account_id };
  if (status !== "complete" || !setup_intent) return { ...state, status: status === "open" ? "open" : "expired" };
  const intentId = typeof setup_intent === "string" ? setup_intent : setup_intent.id;
  const { payment_method } = await client.setupIntents.retrieve(intentId, { expand: ["payment_method"] }, options);
  return { ...state, status: "saved", card: savedCard(payment_method) };
}

function savedCard(method: unknown): SavedCard {
  const { id, card } = Card.parse(method);
  return { id, brand: card.brand, last4: card.last4, expMonth: card.exp_month, expYear: card.exp_year };
}
