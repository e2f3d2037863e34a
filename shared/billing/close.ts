import { randomUUID } from "node:crypto";

import { operatorCommit } from "../changes/recorder.ts";
import { money } from "../core/money.ts";
import { dayOf, plusDays } from "../core/time.ts";
import { takeBackSoon } from "../dedicated-ips/operate.ts";
import type { Table } from "../table/table.ts";
import { readWallet } from "../wallet/wallet.ts";
import { askSoon } from "./ask.ts";
import { openAccountBilling, planBilling, totalDue } from "./book.ts";
import { settleNow } from "./plan.ts";
import { askAboutVatId, runAccount } from "./run.ts";
import { settlePurchases } from "./settle.ts";

/** The debts of a closed account, and the balance of its wallet. Amounts are decimal, such as `12.50`. */
export type ClosedAccount = { open_invoices: string[]; owed: string; wallet_balance: string; held: string };

/**
 * Closes an account for good. The same transaction makes the final invoices: the usage up to the end of today is
 * invoiced, and paid from the wallet. An invoice that the wallet cannot pay stays open. The remaining balance stays in
 * the wallet: nothing is paid out. Then the workers end the open payment pages at the provider, and take back the
 * managed dedicated IPs.
 * If the account is closed already, this function invoices the purchases that were paid since the account was closed,
 * and pays the open invoices. The workers end payment pages and take back IPs again. Throws 404 if there is no account.
 */
export async function closeAccount(table: Table, accountId: string, now: Date): Promise<ClosedAccount> {
  const today = dayOf(now);
  const context = { table, now: () => now, requestId: randomUUID() };
  await askAboutVatId(accountId, context);
  // The transaction that closes the account records at most 31 days (`settleNow`). So the days before today are
  // recorded and invoiced first, month by month.
  await runAccount(accountId, plusDays(today, -1), context);
  await operatorCommit(
    table,
    accountId,
    "account closed",
    now,
  )(async () => {
    const { book: _, ...plan } = await planBilling(table, accountId, now, async (book) => {
      if (book.status === "closed") return;
      await settleNow(table, book, today);
      await settlePurchases(table, book, today);
      book.status = "closed";
    });
    return plan;
  });
  // If the process dies here, the checks of the next day take the IPs back. Only suspended IPs have no check. For them,
  // the operator has to run this function again.
  await takeBackSoon(accountId, table, now);
  // If the process dies here, the pages are ended when their tasks are due, in an hour at most.
  await askSoon(accountId, table, now);
  return statementOf(table, accountId, now);
}

async function statementOf(table: Table, accountId: string, now: Date): Promise<ClosedAccount> {
  const book = await openAccountBilling(table, accountId, now);
  const { posted, available } = await readWallet(table, accountId);
  return {
    open_invoices: book.open.map(({ number }) => number),
    owed: money(totalDue(book)),
    wallet_balance: money(posted),
    held: money(posted - available),
  };
}
