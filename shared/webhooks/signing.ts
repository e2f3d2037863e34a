import { createHmac, randomBytes } from "node:crypto";

import type { Event } from "../changes/record.ts";
import type { Secrets } from "../providers/secrets/secrets.ts";
import type { StoredWebhook } from "./webhook.ts";

const secretPrefix = "whsec_";

/** A new signing secret of 256 bits in the form of Standard Webhooks: `whsec_` and base64. */
export const newSecret = (): string => secretPrefix + randomBytes(32).toString("base64");

type SignatureHeaders = Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>;

/**
 * The headers that sign one delivery by Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`.
 * - There is one signature for each secret. During a rotation, a receiver can verify with the old or the new secret.
 * - The timestamp (in whole seconds) is the time of the attempt, not of the event, because receivers refuse old
 *   timestamps.
 * - Throws if `secrets` is empty.
 */
export function sign(secrets: readonly string[], id: string, timestamp: Date, body: string): SignatureHeaders {
  if (secrets.length === 0) throw new Error("A webhook is never sent unsigned");
  const seconds = Math.floor(timestamp.getTime() / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}

type SigningWebhook = { account_id: string; id: string };

const sealContext = ({ account_id, id }: SigningWebhook): Record<string, string> => ({ account_id, webhook_id: id });

/** A new signing secret, in plain text and sealed for one webhook. */
export async function mintSecret(
  secrets: Secrets,
  webhook: SigningWebhook,
): Promise<{ secret: string; sealed: string }> {
  const secret = newSecret();
  return { secret, sealed: await secrets.seal(secret, sealContext(webhook)) };
}

/**
 * The secrets that sign a webhook's deliveries: its secret, and its previous secret until the previous secret expires.
 */
export async function signingSecrets(secrets: Secrets, webhook: StoredWebhook, now: Date): Promise<string[]> {
  const { sealed_secret, previous_sealed_secret, previous_secret_expires_at } = webhook;
  const isRotating = previous_secret_expires_at !== null && previous_secret_expires_at > now.toISOString();
  const sealed = [sealed_secret, ...(isRotating && previous_sealed_secret !== null ? [previous_sealed_secret] : [])];
  return Promise.all(sealed.map((secret) => secrets.open(secret, sealContext(webhook))));
}

/** An event from the bus. If the event was too long for the bus, it has no `data`, and `truncated` is true. */
export type PublishedEvent = Omit<Event, "data"> & { data?: Record<string, unknown>; truncated?: boolean };

const longestBytes = 20_000;

/**
 * The body of an event's deliveries: the event as JSON, at most 20,000 bytes long. A longer event is sent without
 * `previous_data` and, if it is still too long, also without `data`. In both cases the body has `truncated: true`.
 */
export function bodyOf(event: PublishedEvent): string {
  const { previous_data: _, ...withData } = event;
  const { data: __, ...withoutData } = withData;
  const candidates = [event, { ...withData, truncated: true }].map((candidate) => JSON.stringify(candidate));
  return (
    candidates.find((text) => Buffer.byteLength(text) <= longestBytes) ??
    JSON.stringify({ ...withoutData, truncated: true })
  );
}
