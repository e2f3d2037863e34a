import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import { type Secrets, sealBroken, sealedBytes } from "./secrets.ts";

const sealPrefix = "aes1:";
const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** The context as JSON with sorted names, so that equal contexts give equal bytes. */
const authenticated = (context: Record<string, string>): Buffer =>
  Buffer.from(JSON.stringify(context, Object.keys(context).toSorted()));

function open(key: Buffer, sealed: string, context: Record<string, string>): string {
  const bytes = sealedBytes(sealPrefix, sealed);
  if (bytes.length < nonceBytes + tagBytes) throw sealBroken();
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(authenticated(context));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  } catch (error) {
    throw sealBroken(error);
  }
}

/**
 * Seals secrets with a 256-bit key that the process holds: AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce.
 * Because the nonces are random, a key can seal up to 2^32 secrets. The sealed text is `sealPrefix`, and then the
 * nonce, the ciphertext and the tag in base64.
 */
export const embeddedSecrets = (key: Buffer): Secrets => ({
  seal: async (plaintext, context) => {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(authenticated(context));
    const ciphertext = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
    return sealPrefix + Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]).toString("base64");
  },
  open: async (sealed, context) => open(key, sealed, context),
});
