import { ordinalOf } from "../core/ids.ts";
import { dayOf, startOf, type Day } from "../core/time.ts";
import { readBalance, readEntries, movementKey } from "../ledger/ledger.ts";
import { StoredMovement, type Entry } from "../ledger/movement.ts";
import { rowKey } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { BillingState } from "../wallet/state.ts";
import { StoredTransaction, transactionsOf } from "../wallet/transaction.ts";
import { noVat, type ChargedVat } from "../wallet/vat.ts";
import { walletOf } from "../wallet/wallet.ts";

/** A purchase that the wallet has paid. `net` is the price without VAT. Amounts are in minor units. */
export type Captured = { day: Day; description: string; net: number; vat: ChargedVat };

/** The most purchases on one invoice, so that the invoice fits into one item of the table. */
const mostPurchases = 300;

const pageSize = 100;

/**
 * The captured purchases that are on no invoice yet, up to a day, oldest first. Every purchase is an entry of the
 * ledger account `revenue`, and the ordinals of the entries have no gaps. `next` is the ordinal of the first entry that
 * the next invoice takes into account. The caller stores `next` as `revenue_entries` in the transaction that stores the
 * invoice. So each purchase is on exactly one invoice. `isMore` is true if one invoice cannot have all of these
 * purchases.
 */
export async function uninvoicedPurchases(
  table: Reader,
  accountId: string,
  state: BillingState,
  last: Day,
): Promise<{ purchases: Captured[]; next: number; isMore: boolean }> {
  const ledger = walletOf(accountId);
  const { entries: end } = await readBalance(table, ledger, "revenue");
  let next = state.revenue_entries ?? (await firstEntryOf(table, accountId, end, state.settle_from));
  const found: Entry[] = [];
  while (next < end) {
    const page = await readEntries(table, ledger, "revenue", next, Math.min(next + pageSize, end) - 1);
    for (const entry of page) {
      if (dayOf(new Date(entry.at)) > last)
        return { purchases: await detailsOf(table, accountId, found), next, isMore: false };
      if (isPurchase(entry) && found.length === mostPurchases)
        return { purchases: await detailsOf(table, accountId, found), next, isMore: true };
      if (isPurchase(entry)) found.push(entry);
      next += 1;
    }
  }
  return { purchases: await detailsOf(table, accountId, found), next, isMore: false };
}

/** Whether an entry of `revenue` is a purchase. The entries of invoices, VAT and credit notes are not purchases. */
const isPurchase = ({ direction, code }: Entry): boolean =>
  direction === "credit" && !["invoice", "vat", "credit_note"].includes(code);

/**
 * The ordinal of the first entry in the days that are on no invoice. This is for the state of an earlier version, which
 * put no purchases on invoices.
 */
async function firstEntryOf(table: Reader, accountId: string, end: number, from: Day): Promise<number> {
  let first = end;
  while (first > 0) {
    const start = Math.max(0, first - pageSize);
    const page = await readEntries(table, walletOf(accountId), "revenue", start, first - 1);
    const older = page.findLastIndex(({ at }) => new Date(at) < startOf(from));
    if (older >= 0) return start + older + 1;
    first = start;
  }
  return 0;
}

/** The purchases of some entries. An entry names its movement, and the movement refers to its transaction. */
async function detailsOf(table: Reader, accountId: string, entries: readonly Entry[]): Promise<Captured[]> {
  const movements = await table.getMany(
    entries.map(({ movement_id }) => movementKey(walletOf(accountId), movement_id)),
  );
  const ordinals = movements.map((item) => ordinalOf(StoredMovement.parse(item).reference ?? ""));
  // A reference without an ordinal gets the ordinal 2 ** 40, which no row has. `parse` then throws, because there is no
  // row.
  const rows = await table.getMany(ordinals.map((ordinal) => rowKey(transactionsOf(accountId), ordinal ?? 2 ** 40)));
  return entries.map(({ at, amount }, index) => {
    const { description, charged_vat = { ...noVat, amount: 0 } } = StoredTransaction.parse(rows[index]);
    return { day: dayOf(new Date(at)), description, net: amount - charged_vat.amount, vat: charged_vat };
  });
}
