import * as z from "zod";

import { requireExact, type Amount } from "./movement.ts";

const Total = z.int().min(0);

/**
 * The totals of one account of a ledger, in minor units. A posted total is the sum of the account's debits or credits,
 * and only grows. A pending total is the sum that unresolved holds reserve.
 */
export const Balance = z.object({
  debits_posted: Total,
  credits_posted: Total,
  debits_pending: Total,
  credits_pending: Total,
  /** The number of entries, which is the ordinal of the next entry. */
  entries: Total,
  version: z.int(),
});
export type Balance = z.output<typeof Balance>;

export const emptyBalance: Balance = {
  debits_posted: 0,
  credits_posted: 0,
  debits_pending: 0,
  credits_pending: 0,
  entries: 0,
  version: 0,
};

/** The balance of an account: the sum of its credits minus the sum of its debits. */
export const postedOf = ({ credits_posted, debits_posted }: Balance): number => credits_posted - debits_posted;

/**
 * The amount that can still be debited from an account whose debits must not exceed its credits: the balance of the
 * account minus the debits that holds reserve.
 */
export const availableOf = (balance: Balance): number => postedOf(balance) - balance.debits_pending;

/** Adds amounts to the totals of a balance. Throws a RangeError if a total gets too large. */
export function addAmounts(
  balance: Balance,
  amounts: Partial<Record<keyof Omit<Balance, "version">, Amount>>,
): Balance {
  const next = { ...balance };
  for (const [name, amount] of Object.entries(amounts) as [keyof Balance, number][])
    next[name] = requireExact(next[name] + amount);
  return next;
}
