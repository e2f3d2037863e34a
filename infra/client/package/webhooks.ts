import { WebhookVerificationError } from "./errors.ts";
import type { WebhookEvent } from "./generated/types.ts";

/** The headers of a delivery: a `Headers` of the Fetch API, or an object with lower-case names, as in Node. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

export interface VerifyOptions {
  /** The largest difference between the time of the delivery and the present, in seconds. @default 300 */
  toleranceSeconds?: number;
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== "string" || value === "") throw new WebhookVerificationError(`The header ${name} is missing.`);
  return value;
}

/** Decodes base64. Returns undefined if the text is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The HMAC key of a secret. Throws a `TypeError` if the secret without `whsec_` is empty or is not base64. */
async function keyOf(secret: string) {
  const bytes = bytesOf(secret.trim().replace(/^whsec_/, ""));
  if (!bytes || bytes.length === 0)
    throw new TypeError("The webhook's secret must be base64, with or without whsec_ before it.");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function joined(prefix: string, body: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(prefix);
  const end = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const all = new Uint8Array(start.length + end.length);
  all.set(start);
  all.set(end, start.length);
  return all;
}

/** Whether one of the signatures fits one of the secrets. Compares in constant time, by `crypto.subtle.verify`. */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signatures: string,
  secrets: readonly string[],
): Promise<boolean> {
  const given = signatures.split(" ").flatMap((one) => (one.startsWith("v1,") ? (bytesOf(one.slice(3)) ?? []) : []));
  for (const secret of secrets) {
    const key = await keyOf(secret);
    for (const signature of given) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
  }
  return false;
}

/**
 * Verifies a delivery as Standard Webhooks specifies, and returns its event. Give the body exactly as it arrived: a
 * body that was parsed and serialized again has another signature.
 * - `secret` is the webhook's secret (`whsec_…`), or a list of secrets. One secret of the list must match. During a
 *   rotation, each delivery is signed with the old and with the new secret, so one of the two is enough.
 * - Throws a `WebhookVerificationError` if a header is missing, if the time of the delivery is not a number or differs
 *   from the present by more than `toleranceSeconds`, or if no signature matches.
 * - Throws a `TypeError` if a secret is empty or is not base64. Secrets after the matching one are not read.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = headerOf(headers, "webhook-id");
  const sentAt = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  const offSeconds = /^\d+$/.test(sentAt) ? Math.abs(Date.now() / 1000 - Number(sentAt)) : Number.NaN;
  // This comparison also fails for NaN, which stands for a time that is not a number.
  if (!(offSeconds <= toleranceSeconds)) {
    throw new WebhookVerificationError(
      `The delivery's time is not a number, or differs from the present by more than ${toleranceSeconds} seconds.`,
    );
  }
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!(await isSigned(joined(`${id}.${sentAt}.`, body), signatures, secrets))) {
    throw new WebhookVerificationError("No signature of the delivery fits the secret.");
  }
  return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body)) as WebhookEvent;
}
