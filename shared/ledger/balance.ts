import * as z from "zod";

import { exact, type Amount } from "./movement.ts";

const Total = z.int().min(0);

/**
 * What one account of a ledger holds. Posted totals only grow: each is the sum of the account's entries on
 * that side. Pending totals are what holds have reserved and not resolved.
 */
export const Balance = z.object({
  debits_posted: Total,
  credits_posted: Total,
  debits_pending: Total,
  credits_pending: Total,
  /** How many entries there are; the next one gets this ordinal. */
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

/** What the entries add up to, credits minus debits. */
export const postedOf = ({ credits_posted, debits_posted }: Balance): number => credits_posted - debits_posted;

/** What may still be debited from an account that must not be overdrawn: posted, less what holds have reserved. */
export const availableOf = (balance: Balance): number => postedOf(balance) - balance.debits_pending;

/** The balance with its totals moved. */
export function moved(balance: Balance, by: Partial<Record<keyof Omit<Balance, "version">, Amount>>): Balance {
  const next = { ...balance };
  for (const [name, amount] of Object.entries(by) as [keyof Balance, number][]) next[name] = exact(next[name] + amount);
  return next;
}
