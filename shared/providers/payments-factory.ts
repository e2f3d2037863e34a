import type { Table } from "../table/table.ts";
import { unconfigured } from "./lazy.ts";
import { embeddedPayments } from "./payments-embedded.ts";
import { paymentsSecret } from "./payments-secret.ts";
import { stripePayments } from "./payments-stripe.ts";
import { type Payments, PaymentsEnvironment } from "./payments.ts";

const missing = "There is no way to pay: set PAYMENTS_SECRET_NAME (Stripe) or PAYMENTS_WEBHOOK_SECRET (embedded).";

/**
 * The payments of an environment, over the table that the embedded ones keep their checkouts in; make them once for
 * each process, as they keep a client and its secret. Without configuration their first use throws, not this.
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
  return () => unconfigured(missing);
}

let ofProcess: ReturnType<typeof paymentsOf> | undefined;

/** The payments of this process, from its environment, which it needs from the first call on, not at import. */
export function payments(table: Table): Payments {
  ofProcess ??= paymentsOf(PaymentsEnvironment.parse(process.env));
  return ofProcess(table);
}
