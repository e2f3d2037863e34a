import * as z from "zod";

import { Currency, currency, money, MoneyText } from "../core/money.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import { monthOf } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { movementKey } from "../ledger/ledger.ts";
import { StoredMovement } from "../ledger/movement.ts";
import { readRows, aheadOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { StoredTransaction, transactionsOf } from "../wallet/transaction.ts";
import { walletOf } from "../wallet/wallet.ts";
import { openAccountBilling } from "./book.ts";
import { linesOf, totalAmount } from "./charges.ts";

export const WalletBalance = z
  .object({
    balance: MoneyText.meta({ description: "The balance of the wallet, including held amounts." }),
    accrued_charges: MoneyText.meta({
      description: "The charges that the wallet has not paid yet: days that are on no invoice, and open invoices.",
    }),
    net_balance: MoneyText.meta({
      description: "The balance less the accrued charges. Negative if the balance does not cover them.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  })
  .meta({ id: "WalletBalance", description: "What an account has in its wallet, and what it owes." });

/** The balance of the wallet, and the charges that will be taken from it. */
export async function walletBalance(
  accountId: string,
  { table, now }: Context,
): Promise<z.output<typeof WalletBalance>> {
  const { accruals, open, posted } = await openAccountBilling(table, accountId, now());
  const months = Map.groupBy(accruals, ({ day }) => monthOf(day));
  const used = [...months.values()].map((days) => totalAmount(linesOf(days)));
  const accrued = [...used, ...open.map(({ total }) => total)].reduce((sum, amount) => sum + amount, 0);
  return {
    balance: money(posted),
    accrued_charges: money(accrued),
    net_balance: money(posted - accrued),
    currency,
  };
}

/** The items that `listTransactions` reads first. */
export const aheadOfTransactions = (accountId: string, page: PageQuery): Ahead =>
  aheadOfRows(transactionsOf(accountId), { ...spanOf(page), order: "newest" });

/** A page of the wallet's transactions, newest first by when they first appeared. */
export async function listTransactions(
  accountId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: StoredTransaction[]; total: number }> {
  const { rows, total } = await readRows(table, transactionsOf(accountId), { ...spanOf(page), order: "newest" });
  const items = rows.map((row) => StoredTransaction.parse(row));
  const heldAt = await holdTimes(accountId, items.filter(isResolvedByFirstVersion), table);
  return { items: items.map((item) => ({ ...item, effective_at: heldAt.get(item) ?? item.effective_at })), total };
}

/** Whether the first version resolved the hold of this row. It then overwrote the time of the hold. */
const isResolvedByFirstVersion = ({ version, resolved_at }: StoredTransaction): boolean =>
  version > 1 && resolved_at === undefined;

async function holdTimes(accountId: string, items: readonly StoredTransaction[], table: Context["table"]) {
  const keys = items.map(({ movement_id }) => movementKey(walletOf(accountId), movement_id));
  const movements = await table.getMany(keys);
  return new Map(items.map((item, index) => [item, StoredMovement.parse(movements[index]).at]));
}
