import * as z from "zod";

const HoldStatus = z.enum(["pending", "captured", "voided", "expired"]);

const amount = z.int().min(1);

/** A movement as it is stored under the id from its caller: a transfer, or a hold with its outcome. */
export const StoredMovement = z.object({
  id: z.string(),
  kind: z.enum(["transfer", "hold"]),
  debit: z.string(),
  credit: z.string(),
  amount,
  /** The purpose, in the words of the caller. */
  code: z.string(),
  /** A reference to further data that the caller stores about the movement. */
  reference: z.string().optional(),
  at: z.string(),
  /** The status and the three members below belong to holds only. */
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
 * An operation on a ledger. The caller makes the id of a transfer or hold and uses it once; the same operation again
 * changes nothing. A hold reserves an amount. A capture posts it, whole or in part, and frees the rest.
 */
export type Operation =
  | ({ kind: "transfer" } & Sides)
  | ({ kind: "hold"; expiresAt?: string } & Sides)
  | { kind: "capture"; id: string; amount?: number }
  | { kind: "void"; id: string }
  | { kind: "expire"; id: string };

/** The result of an operation: done now with these entries, or done before (`existed`). */
export type Done = { kind: Operation["kind"]; movement: StoredMovement; existed: boolean; entries: readonly Entry[] };

/** Thrown when an operation would overdraw a limited account. */
export class Overdrawn extends Error {
  readonly account: string;
  readonly available: number;
  constructor(account: string, available: number) {
    super(`The account ${account} has ${available} available.`);
    this.account = account;
    this.available = available;
  }
}

/**
 * Thrown when an id was used for another movement, or when a hold does not exist, was already resolved in another way,
 * or has not expired.
 */
export class MovementConflict extends Error {}

/** An amount in integer minor units of the ledger's one currency, such as cents. */
export type Amount = number;

/** Throws a RangeError unless the amount is a positive whole number with which arithmetic is exact. */
export function requireAmount(amount: Amount): void {
  if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} is not a valid amount.`);
}

/** Returns a sum. Throws a RangeError if it is no longer exact. */
export function exact(sum: number): number {
  if (!Number.isSafeInteger(sum)) throw new RangeError(`${sum} is too large for exact arithmetic.`);
  return sum;
}
