import * as z from "zod";

const HoldStatus = z.enum(["pending", "captured", "voided", "expired"]);

const amount = z.int().min(1);

/** A stored movement: a transfer or a hold. The caller chooses its id. */
export const StoredMovement = z.object({
  id: z.string(),
  kind: z.enum(["transfer", "hold"]),
  debit: z.string(),
  credit: z.string(),
  amount,
  /** The purpose, in the words of the caller. */
  code: z.string(),
  /** The part of a hold's amount that is tax, as the caller stated it. */
  tax: z.int().min(0).optional(),
  /** An id from the caller, which leads to the caller's own data about the movement. */
  reference: z.string().optional(),
  at: z.string(),
  /** `status` and the next three members are for holds only. */
  status: HoldStatus.optional(),
  captured: z.int().min(0).optional(),
  expires_at: z.string().optional(),
  resolved_at: z.string().optional(),
  version: z.int(),
});
export type StoredMovement = z.output<typeof StoredMovement>;

/** One side of a movement in one account. An entry never changes; a correction is another movement. */
export const Entry = z.object({
  movement_id: z.string(),
  account: z.string(),
  direction: z.enum(["debit", "credit"]),
  amount,
  code: z.string(),
  /** The balance of the account after this entry: credits minus debits. */
  balance_after: z.int(),
  at: z.string(),
  ordinal: z.int(),
});
export type Entry = z.output<typeof Entry>;

type Sides = { id: string; debit: string; credit: string; amount: number; code: string };

/**
 * An operation on a ledger. A `transfer` posts an amount. A `hold` reserves an amount. A `capture` posts the amount of
 * a hold, or a part of it, and releases the rest. `void` and `expire` release a hold. The caller chooses a new id for
 * each transfer and hold. A repeat of an operation changes nothing.
 */
export type Operation =
  | ({ kind: "transfer" } & Sides)
  | ({ kind: "hold"; expiresAt?: string; tax?: number } & Sides)
  | { kind: "capture"; id: string; amount?: number }
  | { kind: "void"; id: string }
  | { kind: "expire"; id: string };

/**
 * The result of an operation: the movement and its new entries. `existed` tells whether the operation was done before.
 */
export type Done = { kind: Operation["kind"]; movement: StoredMovement; existed: boolean; entries: readonly Entry[] };

/** Thrown if an operation would take `required` from a limited account, which has only `available` left. */
export class Overdrawn extends Error {
  readonly account: string;
  readonly available: number;
  readonly required: number;
  constructor(account: string, available: number, required: number) {
    super(`The account ${account} has ${available} available, and ${required} is required.`);
    this.account = account;
    this.available = available;
    this.required = required;
  }
}

/**
 * Thrown if
 * - an id was used for another movement;
 * - a hold does not exist, or was resolved in another way;
 * - an `expire` is for a hold that has not expired.
 */
export class MovementConflict extends Error {}

/** An amount in integer minor units, such as cents. A ledger has one currency. */
export type Amount = number;

/** Throws a RangeError unless the amount is a positive safe integer. */
export function requireAmount(amount: Amount): void {
  if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} is not a valid amount.`);
}

/** Returns a sum. Throws a RangeError if the sum is not a safe integer. */
export function requireExact(sum: number): number {
  if (!Number.isSafeInteger(sum)) throw new RangeError(`${sum} is too large for exact arithmetic.`);
  return sum;
}
