import * as z from "zod";

const HoldStatus = z.enum(["pending", "captured", "voided", "expired"]);

const amount = z.int().min(1);

/** A movement as it is stored under its caller-made id: a transfer, or a hold with what became of it. */
export const StoredMovement = z.object({
  id: z.string(),
  kind: z.enum(["transfer", "hold"]),
  debit: z.string(),
  credit: z.string(),
  amount,
  /** What it is for, in the words of whoever made it. */
  code: z.string(),
  /** Where whoever made it keeps more about it. */
  reference: z.string().optional(),
  at: z.string(),
  /** Of a hold. */
  status: HoldStatus.optional(),
  captured: z.int().min(0).optional(),
  expires_at: z.string().optional(),
  resolved_at: z.string().optional(),
  version: z.int(),
});
export type StoredMovement = z.output<typeof StoredMovement>;

/** One side of a movement in one account. It never changes; a correction is another movement. */
export const Entry = z.object({
  movement_id: z.string(),
  account: z.string(),
  direction: z.enum(["debit", "credit"]),
  amount,
  code: z.string(),
  /** Credits minus debits of the account, this entry included. */
  balance_after: z.int(),
  at: z.string(),
  ordinal: z.int(),
});
export type Entry = z.output<typeof Entry>;

type Sides = { id: string; debit: string; credit: string; amount: number; code: string };

/**
 * What can be asked of a ledger. The id of a transfer or hold is made by the caller and used once: asking
 * the same again changes nothing. A hold reserves; a capture posts it, whole or in part, and frees the rest.
 */
export type Operation =
  | ({ kind: "transfer" } & Sides)
  | ({ kind: "hold"; expiresAt?: string } & Sides)
  | { kind: "capture"; id: string; amount?: number }
  | { kind: "void"; id: string }
  | { kind: "expire"; id: string };

/** What came of an operation: done now with these entries, or found to be done before. */
export type Done = { kind: Operation["kind"]; movement: StoredMovement; existed: boolean; entries: readonly Entry[] };

/** An account that must not be overdrawn would be. */
export class Overdrawn extends Error {
  readonly account: string;
  readonly available: number;
  constructor(account: string, available: number) {
    super(`The account ${account} has ${available} available.`);
    this.account = account;
    this.available = available;
  }
}

/** The id was used for another movement, or the hold was resolved otherwise, or there is none. */
export class MovementConflict extends Error {}

/** An amount in integer minor units of the ledger's one currency: cents, for one. */
export type Amount = number;

/** Throws unless it is a positive whole number that arithmetic is exact on. */
export function requireAmount(amount: Amount): void {
  if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} is not an amount of money.`);
}

/** Throws unless a sum is still exact; returns it. */
export function exact(sum: number): number {
  if (!Number.isSafeInteger(sum)) throw new RangeError(`${sum} is more than can be added up exactly.`);
  return sum;
}
