import { getAccount } from "../../accounts/visible.ts";
import { change } from "../../changes/kind.ts";
import { systemAuthor } from "../../changes/record.ts";
import { recorder, type ChangePlan } from "../../changes/recorder.ts";
import { timeOrderedId } from "../../core/ids.ts";
import { money } from "../../core/money.ts";
import { dayOf, daysBetween, nextMonth, plusDays, type Day } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import { graceDays } from "../../wallet/catalogue.ts";
import { unchangedWallet, walletKind } from "../../wallet/wallet.ts";
import { openAccountBilling, totalDue, type AccountBilling } from "../book.ts";
import { alertsWrite, expectedCharge, leftOf, readAlerts, thresholdOf, type StoredAlerts } from "./alerts.ts";
import { readSettings, unchangedSettings } from "./auto-recharge.ts";
import { beginRecharge, type WatchContext } from "./recharge.ts";
import { readRecharge } from "./stored-recharge.ts";

/** The events that trigger a check of the wallet. */
export const watchedTypes = [
  "billing.transaction.created",
  "billing.transaction.updated",
  "billing.invoice.created",
  "billing.auto_recharge.updated",
  "billing.alerts.updated",
  "billing.payment_method.saved",
  "billing.recharge.failed",
  "billing.recharge.action_required",
] as const;

/**
 * Checks a wallet: begins a recharge if the wallet needs one, and records once that the wallet has fallen below the
 * threshold. Records nothing while a running recharge will lift the wallet above the threshold. This function may run
 * at any time and any number of times. After the wallet was above the threshold, its next fall is recorded again.
 */
export async function watchWallet(accountId: string, context: WatchContext): Promise<void> {
  await beginRecharge(accountId, context);
  await recordNotice(accountId, context, planLowBalance);
}

/**
 * The daily check of an account. Checks the wallet. Records an event 7 to 2 days before the account becomes past due,
 * and another event when this day is tomorrow or today. Does the same before a past due account is suspended. Each
 * event is recorded once, however often this function runs.
 */
export async function giveBillingNotices(accountId: string, context: WatchContext): Promise<void> {
  await watchWallet(accountId, context);
  const { status } = await getAccount(context.table, accountId);
  const today = dayOf(context.now());
  // On most days no notice can be due, so the billing need not be read again.
  const isNearInvoice = noticeBefore(nextMonth(today), today) !== undefined;
  if (isNearInvoice || status === "past_due") await recordNotice(accountId, context, planDueNotice);
}

/** Plans a notice, and the change of the alerts that remembers it. Plans nothing if no notice is due. */
type NoticePlan = (table: Reader, book: AccountBilling, alerts: StoredAlerts) => Promise<ChangePlan<void>>;

const nothing: ChangePlan<void> = { value: undefined, writes: [], changes: [] };

/** Commits the notice that `plan` plans for an account, unless the account is closed. */
async function recordNotice(accountId: string, { table, now }: WatchContext, plan: NoticePlan): Promise<void> {
  const author = systemAuthor("billing notice", "billing", timeOrderedId(now()));
  const commit = recorder({ table, accountId, author, now });
  await commit(async () => {
    const alerts = await readAlerts(table, accountId);
    const book = await openAccountBilling(table, accountId, now());
    return book.account.status === "closed" ? nothing : plan(table, book, alerts);
  });
}

async function planLowBalance(table: Reader, book: AccountBilling, alerts: StoredAlerts): Promise<ChangePlan<void>> {
  const { accountId, account, posted, available, walletVersion } = book;
  const { currency } = account;
  const threshold = await thresholdOf(table, book, alerts);
  const settings = await readSettings(table, accountId, dayOf(book.now));
  const running = settings.current === undefined ? undefined : await readRecharge(table, accountId, settings.current);
  // A wallet that was low stays low until the money is there.
  const coming = alerts.is_low ? 0 : (running?.amount ?? 0);
  const is_low = leftOf(book) + coming < threshold;
  if (is_low === alerts.is_low) return nothing;
  const after = { balance: money(posted), available: money(available), currency, threshold: money(threshold) };
  return {
    value: undefined,
    writes: [
      alertsWrite(accountId, { ...alerts, is_low }),
      unchangedWallet(accountId, walletVersion),
      unchangedSettings(accountId, settings),
    ],
    changes: is_low ? [change(walletKind, "low_balance", accountId, { after })] : [],
    housekeeping: true,
  };
}

/**
 * The notice that is due for a date: 7 if the date is 2 to 7 days away, 1 if the date is tomorrow or today. Undefined
 * for any other date.
 */
function noticeBefore(date: Day, today: Day): 7 | 1 | undefined {
  const days = daysBetween(today, date).length - 1;
  if (days < 0 || days > 7) return undefined;
  return days <= 1 ? 1 : 7;
}

/**
 * Whether automatic recharges will pay an amount: automatic recharges are on, the last recharge has not failed, and the
 * limits of the month allow the amount.
 */
async function isCovered(table: Reader, { accountId, now }: AccountBilling, missing: number): Promise<boolean> {
  const { enabled, failures, charged, monthly_cap, count, max_per_month } = await readSettings(
    table,
    accountId,
    dayOf(now),
  );
  return enabled && failures === 0 && count < max_per_month && charged + missing <= monthly_cap;
}

/** Plans the notice before the account becomes past due, or before a past due account is suspended. */
const planDueNotice: NoticePlan = async (table, book, alerts) =>
  book.account.status === "past_due" ? planSuspensionNotice(book, alerts) : planPastDueNotice(table, book, alerts);

async function planPastDueNotice(table: Reader, book: AccountBilling, alerts: StoredAlerts): Promise<ChangePlan<void>> {
  const { accountId, account, available, now } = book;
  const due_on = nextMonth(dayOf(now));
  const days = noticeBefore(due_on, dayOf(now));
  if (days === undefined || account.status !== "active") return nothing;
  const expected = await expectedCharge(table, book);
  const missing = expected - available;
  const past_due_notice = `${due_on}/${days}`;
  if (missing <= 0 || alerts.past_due_notice === past_due_notice) return nothing;
  if (await isCovered(table, book, missing)) return nothing;
  const after = {
    days,
    expected_charge: money(expected),
    available: money(available),
    missing: money(missing),
    due_on,
    currency: account.currency,
  };
  return {
    value: undefined,
    writes: [alertsWrite(accountId, { ...alerts, past_due_notice })],
    changes: [change(walletKind, "past_due_soon", accountId, { after })],
  };
}

function planSuspensionNotice(book: AccountBilling, alerts: StoredAlerts): ChangePlan<void> {
  const { accountId, account, available, now, state } = book;
  if (state.due_since === undefined) return nothing;
  const suspends_on = plusDays(state.due_since, graceDays);
  const days = noticeBefore(suspends_on, dayOf(now));
  const missing = totalDue(book) - available;
  const suspension_notice = `${suspends_on}/${days}`;
  if (days === undefined || missing <= 0 || alerts.suspension_notice === suspension_notice) return nothing;
  const after = { days, missing: money(missing), suspends_on, currency: account.currency };
  return {
    value: undefined,
    writes: [alertsWrite(accountId, { ...alerts, suspension_notice })],
    changes: [change(walletKind, "suspension_soon", accountId, { after })],
  };
}
