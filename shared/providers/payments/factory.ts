import * as z from "zod";

import type { Table } from "../../table/table.ts";
import { lacking, lazy } from "../lazy.ts";
import { embeddedPayments } from "./embedded.ts";
import type { Payments } from "./payments.ts";
import { paymentsSecret, stripePayments } from "./stripe.ts";

/** The methods of the provider, for `lazy`. */
const calls = {
  createCheckout: true,
  readEvent: true,
  getCheckout: true,
  expireCheckout: true,
  createCustomer: true,
  createCardSetup: true,
  getCardSetup: true,
  removeCard: true,
  charge: true,
  getCharge: true,
} as const;

/**
 * The payment provider that the environment configures. The embedded provider keeps its checkouts in the table. Open
 * the provider once per process, because it keeps a client and a secret. If no provider is configured, every call
 * throws 409 `payments_unavailable`.
 */
export function paymentsOf(env: PaymentsEnvironment): (table: Table) => Payments {
  const { PAYMENTS_SECRET_NAME: secretName, PAYMENTS_WEBHOOK_SECRET: webhookSecret } = env;
  if (secretName !== undefined) {
    const returnUrl = env.PAYMENTS_RETURN_URL;
    const stripe = stripePayments(paymentsSecret(secretName), returnUrl === undefined ? {} : { returnUrl });
    return () => stripe;
  }
  if (webhookSecret !== undefined) {
    return (table) => embeddedPayments(table, { webhookSecret, baseUrl: env.PAYMENTS_LOCAL_URL });
  }
  return () => lazy<Payments>(calls, lacking("payments"));
}

let openPayments: ReturnType<typeof paymentsOf> | undefined;

/** The payment provider of this process. Reads the environment at the first call, not at import. */
export function payments(table: Table): Payments {
  openPayments ??= paymentsOf(PaymentsEnvironment.parse(process.env));
  return openPayments(table);
}

export const PaymentsEnvironment = z
  .object({
    /** A secret in Secrets Manager: JSON with Stripe's `api_key` and the endpoint's `webhook_secret`. */
    PAYMENTS_SECRET_NAME: z.string().min(1).optional(),
    /** For Stripe: the page to which payers return if a checkout names no page. */
    PAYMENTS_RETURN_URL: z.url({ protocol: /^https?$/ }).optional(),
    /** For the embedded payments: the secret that signs webhooks, and the origin of the checkout page. */
    PAYMENTS_WEBHOOK_SECRET: z.string().min(16).optional(),
    PAYMENTS_LOCAL_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8080"),
  })
  .refine((env) => env.PAYMENTS_SECRET_NAME === undefined || env.PAYMENTS_WEBHOOK_SECRET === undefined, {
    error: "Give either PAYMENTS_SECRET_NAME or PAYMENTS_WEBHOOK_SECRET, not both",
  });

export type PaymentsEnvironment = z.output<typeof PaymentsEnvironment>;
