import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";

import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import type { DkimState, StoredDomain } from "../domain.ts";

/*
 * Access patterns
 *   the DKIM keys of a domain             ACCOUNT#<id> / DKIM#<domain id>
 */
export const dkimKey = (accountId: string, domainId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DKIM#${domainId}`,
});

/**
 * The selectors of keys (RFC 6376 §3.1). A domain begins with the first selector, and each rotation changes to the
 * other selector.
 */
export const selectors = ["hm1", "hm2"] as const;

/** The other one of the two selectors, to which a rotation changes. */
export const otherSelector = (selector: string): string => (selector === selectors[0] ? selectors[1] : selectors[0]);

/** The selector of the key that signs a domain's mail, and since when the key signs. */
export const signingOf = ({
  dkim,
  verified_at,
  created_at,
}: Pick<StoredDomain, "dkim" | "verified_at" | "created_at">): Pick<DkimState, "selector" | "since"> =>
  dkim ?? { selector: selectors[0], since: verified_at ?? created_at };

/** The public half of a key: the base64 of its SubjectPublicKeyInfo, as the zone has it. */
const PublicKey = z.object({ selector: z.string(), public_key: z.string() });
export type PublicKey = z.output<typeof PublicKey>;

/** A whole key. Its private half is PKCS #8 in PEM, sealed. */
const KeyPair = PublicKey.extend({ sealed_private_key: z.string(), created_at: Timestamp });
export type KeyPair = z.output<typeof KeyPair>;

/**
 * The DKIM keys of a domain. The members of `KeyPair` are the key that signs. `next` is the key that signs next, and
 * `former` is the key that signed before; each exists only during a part of a rotation.
 */
export const Dkim = KeyPair.extend({ next: KeyPair.optional(), former: PublicKey.optional() });
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
  selector: string = selectors[0],
): Promise<KeyPair> {
  const { publicKey, privateKey } = await newPair("rsa", { modulusLength: 2_048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return {
    selector,
    public_key: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    sealed_private_key: await secrets.seal(pem, { account_id, dkim_of: id }),
    created_at: now.toISOString(),
  };
}

export const dkimWrite = (accountId: string, domainId: string, dkim: KeyPair): Write => ({
  put: { ...dkimKey(accountId, domainId), ...dkim },
  if: "absent",
});

/** A new key for a domain that has no key; undefined if the domain has a key. */
export async function missingDkim(
  domain: { account_id: string; id: string },
  { table, secrets, now }: { table: Reader; secrets: Secrets; now: () => Date },
): Promise<Dkim | undefined> {
  const known = await table.get(dkimKey(domain.account_id, domain.id), Dkim);
  return known ? undefined : newDkim(domain, secrets, now());
}

/**
 * Makes and stores a DKIM key if the domain has none. The domain's DKIM record publishes the public half of the key.
 */
export async function ensureDkim(
  domain: { account_id: string; id: string },
  work: { table: Table; secrets: Secrets; now: () => Date },
): Promise<void> {
  const dkim = await missingDkim(domain, work);
  if (dkim) await work.table.attempt(dkimWrite(domain.account_id, domain.id, dkim));
}
