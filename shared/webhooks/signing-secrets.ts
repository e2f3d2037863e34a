import type { Secrets } from "../providers/secrets/secrets.ts";
import { newSecret } from "./signature.ts";
import type { StoredWebhook } from "./webhook.ts";

type Place = { account_id: string; id: string };

const contextOf = ({ account_id, id }: Place): Record<string, string> => ({ account_id, webhook_id: id });

/** A new signing secret, and the same as it is stored: sealed for one webhook. */
export async function mintSecret(secrets: Secrets, webhook: Place): Promise<{ secret: string; sealed: string }> {
  const secret = newSecret();
  return { secret, sealed: await secrets.seal(secret, contextOf(webhook)) };
}

/** The secrets that sign a webhook's deliveries at an instant: its own, and the one before while that is valid. */
export async function signingSecrets(secrets: Secrets, webhook: StoredWebhook, now: Date): Promise<string[]> {
  const { sealed_secret, previous_sealed_secret, previous_secret_expires_at } = webhook;
  const isRotating = previous_secret_expires_at !== null && previous_secret_expires_at > now.toISOString();
  const sealed = [sealed_secret, ...(isRotating && previous_sealed_secret !== null ? [previous_sealed_secret] : [])];
  return Promise.all(sealed.map((one) => secrets.open(one, contextOf(webhook))));
}
