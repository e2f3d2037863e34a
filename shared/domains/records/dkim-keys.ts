import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";

import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Key, Write } from "../../table/writes.ts";

/*
 * Access patterns
 *   the DKIM key of a domain              ACCOUNT#<id> / DKIM#<domain id>
 */
export const dkimKey = (accountId: string, domainId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DKIM#${domainId}`,
});

/** The selector of every domain's key (RFC 6376 §3.1): a domain has one key at a time. */
export const selector = "hm1";

/**
 * A DKIM key. The public half is the base64 of its SubjectPublicKeyInfo, as the zone has it; the private half is PKCS
 * #8 in PEM, sealed.
 */
export const Dkim = z.object({
  selector: z.string(),
  public_key: z.string(),
  sealed_private_key: z.string(),
  created_at: Timestamp,
});
export type Dkim = z.output<typeof Dkim>;

const newPair = promisify(generateKeyPair);

/**
 * Makes a key for a domain: RSA with 2,048 bits (RFC 8301 §3.2). The sealed private half can be opened for this domain
 * only.
 */
export async function newDkim(
  { account_id, id }: { account_id: string; id: string },
  secrets: Secrets,
  now: Date,
): Promise<Dkim> {
  const { publicKey, privateKey } = await newPair("rsa", { modulusLength: 2_048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return {
    selector,
    public_key: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    sealed_private_key: await secrets.seal(pem, { account_id, dkim_of: id }),
    created_at: now.toISOString(),
  };
}

export const dkimWrite = (accountId: string, domainId: string, dkim: Dkim): Write => ({
  put: { ...dkimKey(accountId, domainId), ...dkim },
  if: "absent",
});
