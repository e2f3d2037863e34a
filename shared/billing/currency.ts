import { accountKey, accountKind, type StoredAccount } from "../accounts/account.ts";
import { getAccount } from "../accounts/visible.ts";
import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { AccountCurrency } from "../core/money.ts";
import { dayOf, type Day } from "../core/time.ts";
import { appendRows, readList } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import { isOffered } from "../wallet/catalogue.ts";
import { BillingState, stateKey } from "../wallet/state.ts";
import { topupKey } from "../wallet/topup.ts";
import { transactionsOf } from "../wallet/transaction.ts";
import { nationalRate } from "../wallet/vat.ts";
import { hasSettings } from "./recharges/auto-recharge.ts";

/**
 * Throws unless accounts can pay in the currency from a day on. The currency must be supported, and the plans must have
 * prices in the currency. If VAT is configured, there must be a rate to the currency of the seller's country.
 */
export function requireOffered(currency: string, day: Day): void {
  const [issue] = AccountCurrency.safeParse(currency).error?.issues ?? [];
  if (issue) throw new Error(`The currency ${currency} is refused: it has to be ${issue.message}.`);
  if (!isOffered(currency, day)) {
    throw new Error(
      `The plans have no prices in ${currency} on ${day}. Add a list with this currency to the setting planPrices.`,
    );
  }
  nationalRate(currency);
}

/**
 * Changes the currency of an account that has no movement, no invoice, no top-up and no settings of automatic
 * recharges. Throws for any other account, unless it has this currency already. Throws as `requireOffered` does for
 * today, and for the first day that is on no invoice yet, because the days from then on are charged in the new
 * currency.
 */
export function setAccountCurrency(
  table: Table,
  accountId: string,
  currency: string,
  now: Date,
): Promise<StoredAccount> {
  requireOffered(currency, dayOf(now));
  const commit = operatorCommit(table, accountId, "account set-currency", now);
  return commit(async () => {
    const account = await getAccount(table, accountId);
    if (account.currency === currency) return { value: account, writes: [], changes: [] };
    const { state: transactions } = await readList(table, transactionsOf(accountId));
    const state = await table.get(stateKey(accountId), BillingState);
    requireOffered(currency, state?.settle_from ?? dayOf(new Date(account.created_at)));
    if (transactions.next > 0 || (state && state.invoices > 0) || (await hasPayments(table, accountId))) {
      throw new Error(
        `The currency stays ${account.currency}, because the account has movements, invoices, top-ups or settings of automatic recharges.`,
      );
    }
    const after = { ...account, currency, updated_at: now.toISOString(), version: account.version + 1 };
    return {
      value: after,
      writes: [
        { put: { ...accountKey(accountId), ...after }, if: { version: account.version } },
        // Another request may have planned a movement or an invoice in the former currency. These writes make its
        // transaction fail.
        ...appendRows(transactions, []),
        { check: stateKey(accountId), if: state ? { version: state.version } : "absent" },
      ],
      changes: [change(accountKind, "updated", accountId, { before: account, after })],
    };
  });
}

/** Whether an account has top-ups, or settings of automatic recharges with amounts in its currency. */
async function hasPayments(table: Reader, accountId: string): Promise<boolean> {
  const { PK, SK } = topupKey(accountId, "");
  const [topups, settings] = await Promise.all([
    table.between(PK, SK, `${SK}~`, { limit: 1 }),
    hasSettings(table, accountId),
  ]);
  return topups.length > 0 || settings;
}
