import { idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { money } from "../core/money.ts";
import { dayOf, plusDays, type Day } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import { graceDays } from "../wallet/catalogue.ts";
import { periodEnd, withoutHistory } from "../wallet/state.ts";
import { vatRule } from "../wallet/vat.ts";
import type { AccountBilling } from "./book.ts";
import { uninvoicedPurchases } from "./captured.ts";
import { usageCost } from "./charges.ts";
import { invoiceAmounts, nationalVat, type InvoiceAmounts } from "./invoices/amounts.ts";
import { dueOf, newDownloadKey, numberOf, seriesOf, vatTotal, type StoredInvoice } from "./invoices/invoice.ts";
import { buyerOf, presentSeller } from "./invoices/parties.ts";
import { owedParts, payOwedAmount } from "./owed.ts";
import { usageOfDays } from "./usage.ts";

/** Records the usage of every unrecorded day up to `last`, at most to the end of the month that is invoiced next. */
export async function accrueThrough(table: Reader, book: AccountBilling, last: Day): Promise<void> {
  const end = last < periodEnd(book.state) ? last : periodEnd(book.state);
  if (end < book.state.accrue_from) return;
  const accruals = await usageOfDays(table, book, book.state.accrue_from, end);
  book.newAccruals.push(...accruals);
  book.accruals.push(...accruals);
  book.state = { ...book.state, accrue_from: plusDays(end, 1) };
}

/**
 * Makes an invoice for the recorded days and the purchases up to `last`. The recorded days must be of one month. Makes
 * no invoice if nothing is charged. If there are too many purchases for one invoice, the first purchases get an invoice
 * of their own, and the days are not invoiced yet. In this case the caller must call this function again.
 */
export async function settleThrough(table: Reader, book: AccountBilling, last: Day): Promise<void> {
  const { state } = book;
  const { purchases, next, isMore } = await uninvoicedPurchases(table, book.accountId, state, last);
  const isSettled = !isMore;
  const days = isSettled ? book.accruals.filter(({ day }) => day >= state.settle_from && day <= last) : [];
  const period = { period_start: state.settle_from, period_end: last };
  book.state = { ...state, revenue_entries: next };
  if (isSettled) {
    book.accruals = book.accruals.filter(({ day }) => day > last);
    book.state = withoutHistory({ ...book.state, settle_from: plusDays(last, 1) });
  }
  const present = vatRule(book.profile, dayOf(book.now));
  const amounts = invoiceAmounts(usageCost(days, present, book.account.currency).groups, purchases);
  if (amounts.total > 0) addInvoice(book, period, amounts);
}

/**
 * Invoices the purchases that were paid after an immediate cancellation, on the same day. Does nothing if this day is
 * later than `last`. Call this function before the next day is recorded. After that, the function does nothing.
 */
export async function settleLate(table: Reader, book: AccountBilling, last: Day): Promise<void> {
  const { settle_from, accrue_from } = book.state;
  const end = plusDays(settle_from, -1);
  if (accrue_from === settle_from && end <= last) await settlePurchases(table, book, end);
}

/**
 * Makes invoices for the purchases up to `last` that are on no invoice although their days are invoiced already. These
 * purchases were paid after the account was closed, or after the plan was cancelled immediately on the same day. All
 * other purchases are on the invoice of their days.
 */
export async function settlePurchases(table: Reader, book: AccountBilling, last: Day): Promise<void> {
  for (let isMore = true; isMore;) {
    const found = await uninvoicedPurchases(table, book.accountId, book.state, last);
    const days = found.purchases.map(({ day }) => day).toSorted();
    const [period_start, period_end] = [days[0], days.at(-1)];
    if (period_start === undefined || period_end === undefined) return;
    book.state = { ...book.state, revenue_entries: found.next };
    addInvoice(book, { period_start, period_end }, invoiceAmounts([], found.purchases));
    isMore = found.isMore;
  }
}

function addInvoice(
  book: AccountBilling,
  period: Pick<StoredInvoice, "period_start" | "period_end">,
  amounts: InvoiceAmounts,
): void {
  const { state, profile } = book;
  const { currency } = book.account;
  const date = book.now.toISOString();
  const series = seriesOf(book.accountId, state);
  const number = numberOf(series, state.invoices + 1);
  const isPaid = amounts.total === amounts.prepaid;
  const invoice: StoredInvoice = {
    id: idWithOrdinal(state.invoices),
    account_id: book.accountId,
    customer_name: book.account.name,
    number,
    date,
    ...period,
    amount: money(amounts.total),
    currency,
    status: isPaid ? "paid" : "open",
    ...(isPaid ? { paid_at: date } : {}),
    ...amounts,
    seller: presentSeller(),
    ...(profile.name === null && profile.country === null ? {} : { buyer: buyerOf(profile) }),
    ...nationalVat(amounts.vat, currency),
    download_key: newDownloadKey(),
    version: 0,
  };
  book.state = { ...state, invoices: state.invoices + 1, series };
  book.newInvoices.push(invoice);
  if (!isPaid) book.open.push(invoice);
  const vat = vatTotal(invoice);
  // The VAT is owed from the date of the invoice on, even if the invoice is not paid.
  if (vat > 0) {
    const sides = { debit: "revenue", credit: "vat", code: "vat" };
    book.postings.push({ kind: "transfer", id: `vat/${number}`, amount: vat, ...sides });
  }
}

/**
 * The most invoices that one transaction pays. A transaction has room for 100 writes. Each invoice takes seven writes,
 * and the transaction may also record a month of days, with a write for each day.
 */
const maxPaid = 5;

/** The oldest open invoice, if the wallet can pay it; else undefined. */
export const nextPayable = ({
  open: [oldest],
  available,
}: Pick<AccountBilling, "open" | "available">): StoredInvoice | undefined =>
  oldest && dueOf(oldest) <= available ? oldest : undefined;

/**
 * Pays the debt in `owed` as far as the wallet can. Then pays the open invoices that the wallet can pay, from the
 * oldest on and without skipping any, and updates the account's status. Pays five invoices at most. If `nextPayable`
 * then finds one more invoice, the caller has to continue in another transaction.
 */
export function payOpen(book: AccountBilling): void {
  payOwedAmount(book);
  while (book.paid.length < maxPaid) {
    const invoice = nextPayable(book);
    if (!invoice) break;
    const amount = dueOf(invoice);
    book.available -= amount;
    book.postings.push({
      kind: "transfer",
      id: `invoice/${invoice.number}`,
      debit: "wallet",
      credit: "revenue",
      amount,
      code: "invoice",
      type: "charge",
      description: `Invoice ${invoice.number}`,
    });
    const paid: StoredInvoice = { ...invoice, status: "paid", paid_at: book.now.toISOString() };
    book.open.shift();
    book.paid.push(paid);
    const index = book.newInvoices.findIndex(({ id }) => id === paid.id);
    if (index >= 0) book.newInvoices[index] = paid;
  }
  if (book.open.length === 0 && book.state.owed === 0) endDebt(book);
  else updateDebt(book);
}

/** Updates an account that owes nothing: the account becomes active, unless the operator suspended or closed it. */
function endDebt(book: AccountBilling): void {
  const { due_since, suspended_version, ...rest } = book.state;
  const isSuspendedForDebt = book.status === "suspended" && suspended_version === book.account.version;
  if (book.status === "past_due" || isSuspendedForDebt) book.status = "active";
  const hadDebt = due_since !== undefined || suspended_version !== undefined || rest.open.length > 0;
  if (hadDebt) book.state = { ...rest, open: [] };
}

/**
 * The day from which the grace period counts. This is the stored day `due_since`, or the day of the oldest unpaid debt
 * (an open invoice, or a part of `owed`) if this day is later. Undefined if no day is stored yet.
 */
function dueSince(book: AccountBilling): Day | undefined {
  const { due_since } = book.state;
  const days = [...owedParts(book).map(({ since }) => since), ...book.open.map(({ date }) => dayOf(new Date(date)))];
  const [oldest] = days.toSorted();
  return due_since !== undefined && oldest !== undefined && oldest > due_since ? oldest : due_since;
}

/** Updates an account that owes something: past due if the wallet cannot pay, and suspended after the grace period. */
function updateDebt(book: AccountBilling): void {
  const { state } = book;
  const open = book.open.flatMap(({ id }) => ordinalOf(id) ?? []);
  const today = dayOf(book.now);
  const due_since = dueSince(book) ?? today;
  const isShort = nextPayable(book) === undefined;
  if (isShort && book.status === "active") book.status = "past_due";
  const isSuspended = isShort && book.status === "past_due" && plusDays(due_since, graceDays) <= today;
  if (isSuspended) book.status = "suspended";
  const isSame = due_since === state.due_since && !isSuspended && String(open) === String(state.open);
  if (isSame) return;
  book.state = { ...state, open, due_since, ...(isSuspended ? { suspended_version: book.account.version + 1 } : {}) };
}
