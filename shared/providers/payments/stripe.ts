import type { Stripe } from "stripe";
import * as z from "zod";

import { Problem, notFound } from "../../core/errors.ts";
import { clock } from "../../core/time.ts";
import { type NamedSecretOptions, rotatingSecret } from "../named-secret.ts";
import type { CardSetupInput, Checkout, CheckoutInput, Payments, Refund } from "./payments.ts";
import {
  amountRefusalOf,
  cardSetupState,
  chargeCard,
  ChargeMetadata,
  CustomerMetadata,
  isCardSetup,
  settledIntent,
} from "./stripe-charges.ts";
import { OurMetadata, expirySeconds, readPaymentEvent, sessionState, stripeVersion } from "./stripe-objects.ts";

/** The API key, and the valid secrets of the webhook. During a rotation, two secrets are valid. */
type PaymentsSecret = { apiKey: string; webhookSecrets: string[] };

const Secret = z.object({ api_key: z.string().min(1), webhook_secret: z.string().min(1) });

const parseSecret = (text: string) => Secret.parse(JSON.parse(text));

/**
 * The API key and the webhook secrets of Stripe, from a secret in Secrets Manager: see `rotatingSecret`. The API key is
 * from the current version.
 */
export function paymentsSecret(name: string, options: NamedSecretOptions = {}): () => Promise<PaymentsSecret> {
  const versions = rotatingSecret(name, parseSecret, "JSON with an api_key and a webhook_secret", options);
  return async () => {
    const all = await versions();
    return { apiKey: all[0]?.api_key ?? "", webhookSecrets: [...new Set(all.map((one) => one.webhook_secret))] };
  };
}

export type StripeOptions = {
  /** The page that payers return to when a checkout names no page. */
  returnUrl?: string;
  /** An origin instead of Stripe's, for tests. */
  endpoint?: URL;
  /**
   * How long Stripe may be silent in one attempt, in milliseconds. The default is 5,000 for requests that have up to
   * three attempts, and 2,500 for reads that have up to two.
   */
  timeoutMs?: number;
};

async function newClient(apiKey: string, { endpoint, timeoutMs = 5_000 }: StripeOptions): Promise<Stripe> {
  const { default: Stripe } = await import("stripe");
  const origin = endpoint && { protocol: "http" as const, host: endpoint.hostname, port: endpoint.port };
  return new Stripe(apiKey, {
    apiVersion: stripeVersion,
    maxNetworkRetries: 2,
    timeout: timeoutMs,
    telemetry: false,
    ...origin,
  });
}

/**
 * The time limit and the retries of a read. They are low, because somebody waits for the answer: a person, or Stripe
 * during a webhook. A read that fails is soon repeated, by the page, by a worker or by Stripe.
 */
const readOptions = ({ timeoutMs = 2_500 }: StripeOptions): Stripe.RequestOptions => ({
  timeout: timeoutMs,
  maxNetworkRetries: 1,
});

/** A Stripe error (https://docs.stripe.com/error-handling); `code` is Stripe's, not a system error code. */
const StripeFailure = z.object({ type: z.string(), code: z.string().optional().catch(undefined) });

/**
 * Errors that can pass by themselves: no answer, 429, 5xx, and 409 while another request with the same key is still
 * running.
 */
const passingErrors = new Set(["StripeConnectionError", "StripeRateLimitError", "StripeAPIError"]);

/**
 * The error for the caller: 404 for a missing object, `AmountRefused` for an amount that Stripe does not take, 503 when
 * Stripe is unavailable, else the original error, because the mistake is ours.
 */
function stripeFailure(error: unknown): unknown {
  const { data } = StripeFailure.safeParse(error);
  if (data?.code === "resource_missing") return notFound();
  if (!data || !passingErrors.has(data.type)) return amountRefusalOf(data?.code) ?? error;
  return new Problem("upstream_unavailable", "The payment provider does not answer.", { retry_after: 5 });
}

async function callStripe<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw stripeFailure(error);
  }
}

function sessionOf(input: CheckoutInput, successUrl: string, now: Date): Stripe.Checkout.SessionCreateParams {
  const { reference, accountId, amount, currency, description, cancelUrl, expiresAt } = input;
  return {
    mode: "payment",
    client_reference_id: reference,
    metadata: { account_id: accountId, reference },
    line_items: [
      {
        quantity: 1,
        price_data: { currency: currency.toLowerCase(), unit_amount: amount, product_data: { name: description } },
      },
    ],
    expires_at: expirySeconds(expiresAt, now),
    success_url: successUrl,
    ...(cancelUrl === undefined ? {} : { cancel_url: cancelUrl }),
  };
}

async function createSession(client: Stripe, input: CheckoutInput, returnUrl: string | undefined): Promise<Checkout> {
  const successUrl = input.successUrl ?? returnUrl;
  if (successUrl === undefined)
    throw new Error("PAYMENTS_RETURN_URL is not set. A checkout needs this URL to lead the payer back.");
  const { id, url, expires_at } = await client.checkout.sessions.create(sessionOf(input, successUrl, new Date()), {
    idempotencyKey: input.idempotencyKey,
  });
  if (url === null) throw new Error(`Stripe created the session ${id} without the URL of its page`);
  return { id, url, expiresAt: new Date(expires_at * 1_000) };
}

async function createCardSetup(
  client: Stripe,
  input: CardSetupInput,
  returnUrl: string | undefined,
): Promise<Checkout> {
  const { reference, accountId, customerId, cancelUrl, expiresAt, idempotencyKey } = input;
  const successUrl = input.successUrl ?? returnUrl;
  if (successUrl === undefined)
    throw new Error("PAYMENTS_RETURN_URL is not set. A page for saving a card needs this URL to lead the payer back.");
  const { id, url, expires_at } = await client.checkout.sessions.create(
    {
      mode: "setup",
      customer: customerId,
      allowed_payment_method_types: ["card"],
      client_reference_id: reference,
      metadata: { account_id: accountId, reference },
      expires_at: expirySeconds(expiresAt, new Date()),
      success_url: successUrl,
      ...(cancelUrl === undefined ? {} : { cancel_url: cancelUrl }),
    },
    { idempotencyKey },
  );
  if (url === null) throw new Error(`Stripe created the session ${id} without the URL of its page`);
  return { id, url, expiresAt: new Date(expires_at * 1_000) };
}

/**
 * Finds the account of a payment. Stripe's refunds and disputes name only the payment. Our metadata names the account.
 */
async function accountOfPayment(
  client: Stripe,
  paymentId: string,
  limits: Stripe.RequestOptions,
): Promise<string | undefined> {
  const { metadata } = await client.paymentIntents.retrieve(paymentId, undefined, limits);
  const charge = ChargeMetadata.safeParse(metadata);
  if (charge.success) return charge.data.account_id;
  const { data } = await client.checkout.sessions.list({ payment_intent: paymentId, limit: 1 }, limits);
  return OurMetadata.safeParse(data[0]?.metadata).data?.account_id;
}

const StripeRefund = z.object({ id: z.string(), amount: z.int().positive(), status: z.string().nullable() });

/** Stripe lists the newest refund first. We read at most a hundred refunds of a payment. */
async function refundsOf(client: Stripe, paymentId: string, limits: Stripe.RequestOptions): Promise<Refund[]> {
  const { data } = await client.refunds.list({ payment_intent: paymentId, limit: 100 }, limits);
  return data
    .map((refund) => StripeRefund.parse(refund))
    .map(({ id, amount, status }) => ({ id, amount, isFailed: status === "failed" || status === "canceled" }))
    .toReversed();
}

const accountOfCustomer = async (
  client: Stripe,
  customerId: string,
  limits: Stripe.RequestOptions,
): Promise<string | undefined> =>
  CustomerMetadata.safeParse(await client.customers.retrieve(customerId, undefined, limits)).data?.metadata.account_id;

/** Returns undefined for an object that Stripe does not have. */
async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (StripeFailure.safeParse(error).data?.code !== "resource_missing") throw error;
    return undefined;
  }
}

/**
 * Takes payments by Stripe Checkout (sessions of mode `payment` with one line), and from cards that were saved by
 * sessions of mode `setup` (PaymentIntents). All attempts of a request (at most three) have the same Idempotency-Key.
 * When Stripe refuses a request, the result depends on the reason:
 * - The amount of a checkout is too small or too large: throws `AmountRefused`.
 * - The request is a charge: the charge becomes `failed`.
 * - Stripe does not have the object: throws 404.
 * - In all other cases the mistake is ours: throws an Error.
 */
export function stripePayments(secret: () => Promise<PaymentsSecret>, options: StripeOptions = {}): Payments {
  let connected: { apiKey: string; client: Promise<Stripe> } | undefined;
  const connect = async (): Promise<Stripe> => {
    const { apiKey } = await secret();
    if (connected?.apiKey !== apiKey) connected = { apiKey, client: newClient(apiKey, options) };
    return connected.client;
  };
  const call = <T>(work: (client: Stripe) => Promise<T>): Promise<T> => callStripe(async () => work(await connect()));
  const getSession = (client: Stripe, id: string): Promise<Stripe.Checkout.Session> => {
    if (!/^cs_\w{1,200}$/.test(id)) throw notFound();
    return client.checkout.sessions.retrieve(id, undefined, readOptions(options));
  };
  const limits = readOptions(options);
  return {
    createCheckout: (input) => call((client) => createSession(client, input, options.returnUrl)),
    readEvent: async (body, headers, now) =>
      readPaymentEvent(body, headers["stripe-signature"], (await secret()).webhookSecrets, now, {
        cardSetup: (session) => call((client) => cardSetupState(session, client, limits)),
        accountOfPayment: (id) => call((client) => orUndefined(accountOfPayment(client, id, limits))),
        refundsOf: (id) => call((client) => refundsOf(client, id, limits)),
        accountOfCustomer: (id) => call((client) => orUndefined(accountOfCustomer(client, id, limits))),
      }),
    getCheckout: (id) =>
      call(async (client) => {
        const session = await getSession(client, id);
        if (!OurMetadata.safeParse(session.metadata).success) throw notFound();
        return sessionState(session);
      }),
    expireCheckout: (id) => call(async (client) => expire(await getSession(client, id), client)),
    createCustomer: ({ accountId, name, idempotencyKey }) =>
      call(async (client) => {
        const input = { name, metadata: { account_id: accountId } };
        return (await client.customers.create(input, { idempotencyKey })).id;
      }),
    createCardSetup: (input) => call((client) => createCardSetup(client, input, options.returnUrl)),
    getCardSetup: (id) =>
      call(async (client) => {
        const session = await getSession(client, id);
        if (!isCardSetup(session)) throw notFound();
        return cardSetupState(session, client, limits);
      }),
    removeCard: (id) =>
      call(async (client) => {
        await orUndefined(client.paymentMethods.detach(id).catch(ignoreDetached));
      }),
    charge: (input) => call((client) => chargeCard(input, client, clock())),
    getCharge: (id) => call(async (client) => settledIntent(await client.paymentIntents.retrieve(id), client)),
  };
}

async function expire({ id, status }: Stripe.Checkout.Session, client: Stripe): Promise<void> {
  if (status === "open") await client.checkout.sessions.expire(id).catch(ignoreEnded);
}

/**
 * Stripe refuses to expire a session that has just been paid or has expired. The error has no special code for this
 * case.
 */
function ignoreEnded(error: unknown): void {
  const { data } = StripeFailure.safeParse(error);
  if (data?.type !== "StripeInvalidRequestError" || data.code === "resource_missing") throw error;
}

/** Stripe refuses to detach a card twice. The error has no special code for this case. */
function ignoreDetached(error: unknown): void {
  const { data } = z.object({ message: z.string() }).safeParse(error);
  if (!/not attached/i.test(data?.message ?? "")) throw error;
}
