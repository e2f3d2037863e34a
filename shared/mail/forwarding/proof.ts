import { createHash, randomBytes, randomInt } from "node:crypto";

import * as z from "zod";

import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";

/*
 * What a recipient shows to agree to a rule: the token of a link, or a code that they tell the customer. Both are made
 * by the worker that sends them, and only their hashes are kept.
 *
 * Access patterns
 *   what is asked of a rule's recipient   ACCOUNT#<id> / FORWARD_PROOF#<rule id>
 *   which rule a link is about            VERIFICATION#<SHA-256 of its token> / TOKEN
 */
export const proofKey = (accountId: string, ruleId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `FORWARD_PROOF#${ruleId}`,
});
export const tokenKey = (tokenHash: string): Key => ({ PK: `VERIFICATION#${tokenHash}`, SK: "TOKEN" });

export const linkHours = 48;
export const codeMinutes = 15;
export const triesPerCode = 5;

export const StoredProof = z.object({
  rule_id: z.string(),
  /** Who is asked: a letter goes to them and to nobody else, and only a rule to them follows from it. */
  target_email: z.string(),
  /** The rules that the letter tells of: who agrees, agrees to these. */
  covers: z.array(z.string()),
  /** `asked`: a mail is to go out; `sending`: one of the workers is at it; `mailed`; `refused`: it cannot be. */
  state: z.enum(["asked", "sending", "mailed", "refused"]),
  /** Until when a worker that is at it is left to it. */
  lease_until: z.string(),
  expires_at: z.string(),
  token_hash: z.string().optional(),
  code_hash: z.string().optional(),
  code_expires_at: z.string().optional(),
  /** How often the code was tried. */
  tries: z.int(),
  version: z.int(),
});
export type StoredProof = z.output<typeof StoredProof>;

/** Which rule a link is about; whether it still is, the rule's proof says. */
export const StoredToken = z.object({ account_id: z.string(), rule_id: z.string() });

export const getProof = (table: Reader, accountId: string, ruleId: string): Promise<StoredProof | undefined> =>
  table.get(proofKey(accountId, ruleId), StoredProof);

export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("hex");

/** A link's token: 128 random bits. */
export const newToken = (): string => randomBytes(16).toString("base64url");
/** A code to be typed: six digits. */
export const newCode = (): string => String(randomInt(1_000_000)).padStart(6, "0");

const keptAfterSeconds = 86_400;

/** When the table may forget what has expired; whoever reads it compares the time. */
export const ttlOf = (expiresAt: string): number => Math.ceil(Date.parse(expiresAt) / 1_000) + keptAfterSeconds;

/** The writes that ask for a new proof of a rule, which is the end of the one before. */
export function askedWrites(
  accountId: string,
  { id: ruleId, target_email }: { id: string; target_email: string },
  before: StoredProof | undefined,
  expiresAt: string,
): Write[] {
  const { version = 0 } = before ?? {};
  const proof: StoredProof = {
    rule_id: ruleId,
    target_email,
    covers: [ruleId],
    state: "asked",
    lease_until: "",
    expires_at: expiresAt,
    tries: 0,
    version: version + 1,
  };
  return [
    {
      put: { ...proofKey(accountId, ruleId), ...proof, ttl: ttlOf(expiresAt) },
      if: before ? { version } : "absent",
    },
  ];
}

/** The writes that end a proof; none where there is none. */
export const endedWrites = (accountId: string, ruleId: string, proof: StoredProof | undefined): Write[] =>
  proof === undefined ? [] : [{ delete: proofKey(accountId, ruleId), if: { version: proof.version } }];
