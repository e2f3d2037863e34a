import { randomInt } from "node:crypto";

import * as z from "zod";

import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";

/*
 * A recipient agrees to a rule in one of two ways: by the link in a mail, or by giving the customer the code in this
 * mail. The worker that sends the mail generates the token of the link and the code. Only their hashes are stored.
 *
 * Access patterns
 *   the proof of a rule's recipient in slot 0         ACCOUNT#<id> / FORWARD_PROOF#<rule id>
 *   the proof of a rule's recipient in another slot   ACCOUNT#<id> / FORWARD_PROOF#<rule id>#<slot>
 *   the rule that a link belongs to                   VERIFICATION#<SHA-256 of the link's token> / TOKEN
 */
export const proofKey = (accountId: string, ruleId: string, slot = 0): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `FORWARD_PROOF#${ruleId}${slot === 0 ? "" : `#${slot}`}`,
});
export const tokenKey = (tokenHash: string): Key => ({ PK: `VERIFICATION#${tokenHash}`, SK: "TOKEN" });

export const linkHours = 48;
export const codeMinutes = 15;
export const triesPerCode = 5;

export const StoredProof = z.object({
  rule_id: z.string(),
  /** The recipient. The mail goes to this address only, and the proof is valid only for rules with this target. */
  target_email: z.string(),
  /** The rules that the mail is about. The recipient agrees to all of them. */
  covers: z.array(z.string()),
  /**
   * The progress of the mail.
   * - `asked`: the mail has to be sent.
   * - `sending`: a worker is sending the mail.
   * - `mailed`: a server accepted the mail for delivery.
   * - `refused`: a server refused the mail permanently.
   */
  state: z.enum(["asked", "sending", "mailed", "refused"]),
  /** No other worker sends the mail before this time. */
  lease_until: z.string(),
  /** The link works, and the mail may be sent, before this time. */
  expires_at: z.string(),
  /** SHA-256, in hex. */
  token_hash: z.string().optional(),
  /** Argon2id, as a PHC string. */
  code_hash: z.string().optional(),
  code_expires_at: z.string().optional(),
  /** How many times the present code was tried. */
  tries: z.int(),
  version: z.int(),
});
export type StoredProof = z.output<typeof StoredProof>;

/**
 * The rule that a link belongs to, and the slot of the recipient. The proof in this slot says whether the link is still
 * valid.
 */
export const StoredToken = z.object({ account_id: z.string(), rule_id: z.string(), slot: z.int().default(0) });

export const getProof = (
  table: Reader,
  accountId: string,
  ruleId: string,
  slot: number,
): Promise<StoredProof | undefined> => table.get(proofKey(accountId, ruleId, slot), StoredProof);

/** The proofs in some slots of a rule, by their slots. */
export async function getProofs(
  table: Reader,
  accountId: string,
  ruleId: string,
  slots: readonly number[],
): Promise<Map<number, StoredProof>> {
  const items = await table.getMany(slots.map((slot) => proofKey(accountId, ruleId, slot)));
  return new Map(items.flatMap((item, index) => (item ? [[slots[index] ?? 0, StoredProof.parse(item)] as const] : [])));
}

/** Generates a code to type: six digits. */
export const newCode = (): string => String(randomInt(1_000_000)).padStart(6, "0");

const keptAfterSeconds = 86_400;

/**
 * The `ttl` of an item, in seconds since 1970: a day after the item expires. Readers compare the proof's `expires_at`
 * themselves, because the table may delete the item late.
 */
export const ttlOf = (expiresAt: string): number => Math.ceil(Date.parse(expiresAt) / 1_000) + keptAfterSeconds;

/** The writes that replace the proof in a slot of a rule with a new proof in the state `asked`. */
export function proofRequestWrites(
  accountId: string,
  { ruleId, slot, email }: { ruleId: string; slot: number; email: string },
  before: StoredProof | undefined,
  expiresAt: string,
): Write[] {
  const { version = 0 } = before ?? {};
  const proof: StoredProof = {
    rule_id: ruleId,
    target_email: email,
    covers: [ruleId],
    state: "asked",
    lease_until: "",
    expires_at: expiresAt,
    tries: 0,
    version: version + 1,
  };
  return [
    {
      put: { ...proofKey(accountId, ruleId, slot), ...proof, ttl: ttlOf(expiresAt) },
      if: before ? { version } : "absent",
    },
  ];
}

/** The write that deletes the proof in a slot of a rule. */
export const proofDeletion = (accountId: string, ruleId: string, slot: number, { version }: StoredProof): Write => ({
  delete: proofKey(accountId, ruleId, slot),
  if: { version },
});
