import { createHmac, randomBytes } from "node:crypto";

const prefix = "whsec_";

/** A new signing secret of 256 bits, as Standard Webhooks writes one: `whsec_` and base64. */
export const newSecret = (): string => prefix + randomBytes(32).toString("base64");

export type SignatureHeaders = Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>;

/**
 * The headers that sign one delivery by Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, once with
 * each secret, so that receivers may hold the old or the new one while it is rotated. The timestamp (in whole
 * seconds) is that of the attempt, not of the event: receivers refuse old ones. Throws without a secret.
 */
export function sign(secrets: readonly string[], id: string, timestamp: Date, body: string): SignatureHeaders {
  if (secrets.length === 0) throw new Error("A webhook is never sent unsigned");
  const seconds = Math.floor(timestamp.getTime() / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
