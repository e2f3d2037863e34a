import { dayOf } from "../core/time.ts";
import type { BillingState } from "../wallet/state.ts";
import type { AccountBilling } from "./book.ts";
import { sumOf } from "./charges.ts";

/*
 * A wallet is never overdrawn. If the provider takes back more than the wallet has, the ledger account `owed` lends the
 * rest to the wallet. The debit balance of `owed` is the customer's debt. The account is past due until the wallet has
 * paid this debt.
 */

/** A payment that the provider takes back: the id of the movement, the amount in minor units, and texts for people. */
type TakenBack = { id: string; amount: number; type: "refund" | "adjustment"; description: string };

/**
 * The unpaid parts of the debt in `owed`, oldest first, with the day since which each part is owed. In a state of an
 * earlier version, the whole debt is one part.
 */
export function owedParts({ state, now }: AccountBilling): NonNullable<BillingState["owed_parts"]> {
  const { owed, owed_parts, due_since = dayOf(now) } = state;
  return owed_parts ?? (owed > 0 ? [{ since: due_since, amount: owed }] : []);
}

/** Takes an amount out of the wallet. The account owes the part that the wallet does not have available. */
export function takeBack(book: AccountBilling, { id, amount, type, description }: TakenBack): void {
  const missing = Math.max(0, amount - Math.max(0, book.available));
  if (missing > 0) {
    book.postings.push({
      kind: "transfer",
      id: `${id}/owed`,
      debit: "owed",
      credit: "wallet",
      amount: missing,
      code: "owed",
      type: "adjustment",
      description: `Owed: ${description}`,
    });
    const [owed, since] = [book.state.owed + missing, dayOf(book.now)];
    // All debts of a day are one part.
    const earlier = owedParts(book).filter((part) => part.since < since);
    const today = { since, amount: owed - sumOf(earlier.map((part) => part.amount)) };
    book.state = { ...book.state, owed, owed_parts: [...earlier, today] };
  }
  book.postings.push({
    kind: "transfer",
    id,
    debit: "wallet",
    credit: "payments",
    amount,
    code: type,
    type,
    description,
  });
  book.available += missing - amount;
}

/** Puts back into the wallet an amount that `takeBack` took out before. */
export function giveBack(book: AccountBilling, id: string, amount: number, description: string): void {
  book.postings.push({
    kind: "transfer",
    id,
    debit: "payments",
    credit: "wallet",
    amount,
    code: "adjustment",
    type: "adjustment",
    description,
  });
  book.available += amount;
}

/** Pays from the wallet the debt in `owed`, as far as the wallet has money. The oldest part is paid first. */
export function payOwedAmount(book: AccountBilling): void {
  const { owed, owed_payments } = book.state;
  const amount = Math.min(owed, book.available);
  if (amount <= 0) return;
  book.postings.push({
    kind: "transfer",
    id: `owed/${owed_payments + 1}`,
    debit: "wallet",
    credit: "owed",
    amount,
    code: "owed",
    type: "adjustment",
    description: "Debt paid, for a payment that was taken back",
  });
  book.available -= amount;
  let left = amount;
  const owed_parts = owedParts(book).map((part) => {
    const paid = Math.min(left, part.amount);
    left -= paid;
    return { ...part, amount: part.amount - paid };
  });
  book.state = {
    ...book.state,
    owed: owed - amount,
    owed_payments: owed_payments + 1,
    owed_parts: owed_parts.filter((part) => part.amount > 0),
  };
}
