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
