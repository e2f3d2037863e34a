import * as z from "zod";

import { exact, type Amount } from "./movement.ts";

const Total = z.int().min(0);

/**
 * The totals of one account of a ledger. A posted total is the sum of the account's debits or credits, and only grows.
 * A pending total is the sum that unresolved holds reserve.
 */
export const Balance = z.object({
  debits_posted: Total,
  credits_posted: Total,
  debits_pending: Total,
  credits_pending: Total,
  /** The number of entries, and so the ordinal of the next one. */
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

/** The sum of all entries: credits minus debits. */
export const postedOf = ({ credits_posted, debits_posted }: Balance): number => credits_posted - debits_posted;

/**
 * The amount that may still be debited from an account that must not be overdrawn: posted, less what holds have
 * reserved.
 */
export const availableOf = (balance: Balance): number => postedOf(balance) - balance.debits_pending;

/** Adds amounts to the totals of a balance. */
export function addAmounts(balance: Balance, by: Partial<Record<keyof Omit<Balance, "version">, Amount>>): Balance {
  const next = { ...balance };
  for (const [name, amount] of Object.entries(by) as [keyof Balance, number][]) next[name] = exact(next[name] + amount);
  return next;
}
