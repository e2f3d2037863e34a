import { idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { currency, money } from "../core/money.ts";
import { dayOf, daysBetween, plusDays, type Day } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import { defaultPlan, graceDays, seller } from "../wallet/catalogue.ts";
import { periodEnd, planOn, withoutHistory } from "../wallet/state.ts";
import type { AccountBilling } from "./book.ts";
import { linesOf, totalAmount, type Accrual } from "./charges.ts";
import { newDownloadKey } from "./invoice-links.ts";
import { numberOf, type StoredInvoice } from "./invoice.ts";
import { readSent, readUsage } from "./usage.ts";

const isServed = ({ status }: AccountBilling): boolean => status === "active" || status === "past_due";

/**
 * Records the usage of every unrecorded day up to `last`, at most to the end of the unsettled month.
 * - A day that is recorded late gets the usage at the time of recording.
 * - A day without service gets no usage.
 * - A day without a plan gets only the managed IPs, by the default plan.
 */
export async function accrueThrough(table: Reader, book: AccountBilling, last: Day): Promise<void> {
  const end = last < periodEnd(book.state) ? last : periodEnd(book.state);
  const days = daysBetween(book.state.accrue_from, end);
  if (days.length === 0) return;
  const { mailboxes, dedicatedIpsOn } = await readUsage(table, book.accountId);
  const sent = await readSent(table, book.accountId, book.state.accrue_from, end);
  const accruals = days.flatMap((day): Accrual[] => {
    const plan_id = planOn(book.state, day);
    if (!isServed(book)) return [];
    if (plan_id === null) {
      const none = { mailboxes: 0, sent_mails: 0 };
      return dedicatedIpsOn(day) === 0
        ? []
        : [{ ...none, day, plan_id: defaultPlan, dedicated_ips: dedicatedIpsOn(day) }];
    }
    return [{ day, plan_id, mailboxes, dedicated_ips: dedicatedIpsOn(day), sent_mails: sent.get(day) ?? 0 }];
  });
  book.newAccruals.push(...accruals);
  book.accruals.push(...accruals);
  book.state = { ...book.state, accrue_from: plusDays(end, 1) };
}

/** Puts the recorded days up to `last`, all of one month, on an open invoice. `payOpen` pays it if the wallet can. */
export function settleThrough(book: AccountBilling, last: Day): void {
  const { state } = book;
  const days = book.accruals.filter(({ day }) => day >= state.settle_from && day <= last);
  book.accruals = book.accruals.filter(({ day }) => day > last);
  const lines = linesOf(days);
  book.state = withoutHistory({ ...state, settle_from: plusDays(last, 1) });
  if (totalAmount(lines) === 0) return;
  const invoice: StoredInvoice = {
    id: idWithOrdinal(state.invoices),
    account_id: book.accountId,
    customer_name: book.account.name,
    number: numberOf(book.accountId, state.invoices + 1),
    date: book.now.toISOString(),
    period_start: state.settle_from,
    period_end: last,
    amount: money(totalAmount(lines)),
    currency,
    status: "open",
    lines,
    total: totalAmount(lines),
    seller,
    download_key: newDownloadKey(),
    version: 0,
  };
  book.state = { ...book.state, invoices: state.invoices + 1 };
  book.newInvoices.push(invoice);
  book.open.push(invoice);
}

/**
 * The number of invoices that one transaction has room to pay, in addition to a month of days. Each invoice takes seven
 * writes.
 */
const paidAtOnce = 5;

/** The oldest open invoice, if the wallet can pay it. */
export const nextPayable = ({ open: [oldest], available }: AccountBilling): StoredInvoice | undefined =>
  oldest && oldest.total <= available ? oldest : undefined;

/**
 * Pays the open invoices that the wallet can pay, and updates the account's status. It pays the oldest invoice first
 * and skips none. It pays at most five; if `nextPayable` still finds one, another transaction has to continue.
 */
export function payOpen(book: AccountBilling): void {
  while (book.paid.length < paidAtOnce) {
    const invoice = nextPayable(book);
    if (!invoice) break;
    book.available -= invoice.total;
    book.postings.push({
      kind: "transfer",
      id: `invoice/${invoice.number}`,
      debit: "wallet",
      credit: "revenue",
      amount: invoice.total,
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
  if (book.open.length === 0) clear(book);
  else owe(book);
}

/** Updates an account that owes nothing: it is active again, unless the operator suspended it. */
function clear(book: AccountBilling): void {
  const { due_since, suspended_version, ...rest } = book.state;
  const isForDebt = book.status === "suspended" && suspended_version === book.account.version;
  if (book.status === "past_due" || isForDebt) book.status = "active";
  const owed = due_since !== undefined || suspended_version !== undefined || rest.open.length > 0;
  if (owed) book.state = { ...rest, open: [] };
}

/** Updates the status of an account that owes something: past due, and suspended after the grace period. */
function owe(book: AccountBilling): void {
  const { state } = book;
  const open = book.open.flatMap(({ id }) => ordinalOf(id) ?? []);
  const today = dayOf(book.now);
  const due_since = state.due_since ?? today;
  const isShort = nextPayable(book) === undefined;
  if (isShort && book.status === "active") book.status = "past_due";
  const isOver = isShort && book.status === "past_due" && plusDays(due_since, graceDays) <= today;
  if (isOver) book.status = "suspended";
  const isSame = due_since === state.due_since && !isOver && String(open) === String(state.open);
  if (isSame) return;
  book.state = { ...state, open, due_since, ...(isOver ? { suspended_version: book.account.version + 1 } : {}) };
}
