import * as z from "zod";

import { Problem } from "../errors.ts";
import { mayPass } from "./aws-failure.ts";

export type PaymentsSecret = { apiKey: string; webhookSecret: string };

const Secret = z.object({ api_key: z.string().min(1), webhook_secret: z.string().min(1) });

/** Nothing of the text may get into an error: JSON.parse quotes it. */
function parse(name: string, text: string | undefined): PaymentsSecret {
  try {
    const { api_key, webhook_secret } = Secret.parse(JSON.parse(text ?? ""));
    return { apiKey: api_key, webhookSecret: webhook_secret };
  } catch {
    throw new Error(`The secret ${name} is not JSON with an api_key and a webhook_secret.`);
  }
}

async function fetchSecret(name: string, requestTimeoutMs: number): Promise<PaymentsSecret> {
  const { GetSecretValueCommand, SecretsManagerClient } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    return parse(name, SecretString);
  } catch (error) {
    if (!mayPass(error)) throw error;
    throw new Problem("upstream_unavailable", "The payment provider cannot be reached now.", { retry_after: 2 });
  } finally {
    client.destroy();
  }
}

const keptMs = 300_000;

export type PaymentsSecretOptions = { requestTimeoutMs?: number; nowMs?: () => number };

/**
 * What Stripe is used with, from a secret in Secrets Manager (its name or ARN): asked for at the first call and every
 * 5 minutes, so that a rotated key is in use by then. A failure is not kept: 503 `upstream_unavailable`, or the error
 * itself when it is our own mistake.
 */
export function paymentsSecret(name: string, options: PaymentsSecretOptions = {}): () => Promise<PaymentsSecret> {
  const { requestTimeoutMs = 1_000, nowMs = () => performance.now() } = options;
  let kept: { secret: Promise<PaymentsSecret>; untilMs: number } | undefined;
  return () => {
    if (kept && nowMs() < kept.untilMs) return kept.secret;
    const fetched = { secret: fetchSecret(name, requestTimeoutMs), untilMs: nowMs() + keptMs };
    kept = fetched;
    fetched.secret.catch(() => {
      if (kept === fetched) kept = undefined;
    });
    return fetched.secret;
  };
}
