import * as z from "zod";

import { namedSecret, type NamedSecretOptions } from "../named-secret.ts";

export type PaymentsSecret = { apiKey: string; webhookSecret: string };

const Secret = z.object({ api_key: z.string().min(1), webhook_secret: z.string().min(1) });

function parse(text: string): PaymentsSecret {
  const { api_key, webhook_secret } = Secret.parse(JSON.parse(text));
  return { apiKey: api_key, webhookSecret: webhook_secret };
}

/** What Stripe is used with, from a secret in Secrets Manager: see `namedSecret`. */
export const paymentsSecret = (name: string, options: NamedSecretOptions = {}): (() => Promise<PaymentsSecret>) =>
  namedSecret(name, parse, "JSON with an api_key and a webhook_secret", options);
