import { StoredAccount } from "../../shared/accounts/account.ts";
import { Accrual, linesOf, totalAmount } from "../../shared/billing/charges.ts";
import { dueOf, newSeries, numberOf, StoredInvoice, vatTotal } from "../../shared/billing/invoices/invoice.ts";
import { StoredChange } from "../../shared/changes/record.ts";
import { money } from "../../shared/core/money.ts";
import { dayOf, daysBetween, monthOf, plusDays, type Day } from "../../shared/core/time.ts";
import { Balance, postedOf } from "../../shared/ledger/balance.ts";
import { Entry, StoredMovement } from "../../shared/ledger/movement.ts";
import type { Item } from "../../shared/table/writes.ts";
import { defaultPlan, plans, type PlanId } from "../../shared/wallet/catalogue.ts";
import { BillingState } from "../../shared/wallet/state.ts";
import type { Change } from "../support/memory-table.ts";
import { currencyOf } from "./billing-scene.ts";
import { mustHold, type Invariant } from "./world.ts";

type Books = {
  accountId: string;
  state: BillingState | undefined;
  accruals: Map<Day, Accrual>;
  invoices: StoredInvoice[];
  /** The amount that was taken for each invoice, by the number of the invoice. */
  taken: Map<string, number>;
  /** The balance of the ledger account `vat`. */
  owedVat: number;
  /** The amount of each entry of `revenue`, by its ordinal. The amount is 0 if the entry belongs to no purchase. */
  bought: Map<number, number>;
  /**
   * The plans of the account, as its events said. Empty if one call of `check` got all changes, because then their
   * order is not known.
   */
  plans: { plan_id: PlanId | null; from: Day }[];
  /**
   * The statuses of the account, each with its first day. Only a status that billing has set: a run of the day can miss
   * a status that the operator sets at the same time. Days before the first of these statuses have an unknown status.
   */
  statuses: { status: string; from: Day }[];
};

/**
 * The rules of invoices:
 * - Invoices are numbered without gaps. They never change, except when they are paid.
 * - The lines and the VAT of an invoice add up to its total. The lines for usage are the cost of the recorded days.
 * - One movement pays for an invoice. Its amount is the total without the purchases, which were paid before.
 * - No day is on two invoices, except that late purchases make an invoice for a day that is on another invoice. The
 *   settled days of a month that are on no invoice cost at most one cent.
 * - The ledger owes the VAT of all invoices. The settled purchases and the purchases on invoices have the same sum.
 * - A day is recorded once, on the plan that the events named for this day.
 * - A day is recorded with its usage, unless the account was suspended or closed at its end.
 */
export function invoiceInvariant(accountId: string): Invariant {
  const books: Books = {
    accountId,
    state: undefined,
    accruals: new Map(),
    invoices: [],
    taken: new Map(),
    owedVat: 0,
    bought: new Map(),
    plans: [{ plan_id: defaultPlan, from: "0000-01-01" }],
    statuses: [],
  };
  const check = (changes: readonly Change[]): void => {
    const own = changes.filter(({ key }) => key.PK === `ACCOUNT#${accountId}`);
    const { state: former } = books;
    const isFirst = former === undefined;
    const fresh = own.flatMap((change) => note(books, change));
    // If one call gets all changes, their order is not known: events of the same millisecond have no order.
    if (isFirst && books.state && own.some(({ key }) => key.SK === "ACCOUNT")) books.plans = [];
    for (const invoice of fresh) checkInvoice(books, invoice);
    if (books.state && own.some(({ key }) => /^(BILLING|ACCRUAL|LIST#invoices|LEDGER#MOVEMENT)/.test(key.SK))) {
      checkState(books, books.state);
    }
    for (const { key, after } of own) if (key.SK.startsWith("ACCRUAL#")) checkPlan(books, Accrual.parse(after));
    if (former && books.state) checkService(books, former.accrue_from, books.state.accrue_from);
    noteStatus(books, own);
  };
  return { name: `the invoices of ${accountId}`, check };
}

function note(books: Books, { key, before, after }: Change): StoredInvoice[] {
  if (key.SK === "BILLING") books.state = BillingState.parse(after);
  if (key.SK.startsWith("LEDGER#MOVEMENT#invoice/")) {
    const { id, amount } = StoredMovement.parse(after);
    books.taken.set(id.slice("invoice/".length), amount);
  }
  if (key.SK === "LEDGER#BALANCE#vat") books.owedVat = postedOf(Balance.parse(after));
  if (key.SK.startsWith("LEDGER#ENTRY#revenue#")) {
    const { ordinal, direction, amount, code } = Entry.parse(after);
    const isPurchase = direction === "credit" && code !== "invoice";
    books.bought.set(ordinal, isPurchase ? amount : 0);
  }
  if (key.SK.startsWith("ACCRUAL#")) {
    const accrual = Accrual.parse(after);
    mustHold(before === undefined, () => `${key.SK} was recorded twice`);
    books.accruals.set(accrual.day, accrual);
  }
  if (key.SK.startsWith("JOURNAL#changes#ENTRY#")) notePlan(books, StoredChange.parse(after));
  if (!key.SK.startsWith("LIST#invoices#ROW#")) return [];
  const invoice = StoredInvoice.parse(after);
  if (before) mustBePaying(before, invoice);
  books.invoices[Number(key.SK.slice(-10))] = invoice;
  return [invoice];
}

const ofPayment = new Set(["status", "paid_at", "file_key", "version"]);

function mustBePaying(stored: Item, invoice: StoredInvoice): void {
  const before = StoredInvoice.parse(stored);
  const constant = (one: StoredInvoice): string =>
    JSON.stringify(Object.entries(one).filter(([name]) => !ofPayment.has(name)));
  mustHold(constant(before) === constant(invoice), () => `invoice ${before.number} was changed`);
  mustHold(
    before.status === "open" && invoice.status === "paid",
    () => `invoice ${before.number} was ${before.status}`,
  );
}

function notePlan({ plans }: Books, { type, after }: StoredChange): void {
  if (!type.startsWith("billing.plan.") || !after || plans.length === 0) return;
  const next = { plan_id: after["plan_id"] as PlanId | null, from: String(after["from"]) };
  const kept = plans.filter(({ from }) => from < next.from);
  plans.splice(0, plans.length, ...kept, next);
}

function checkPlan({ plans: changes }: Books, accrual: Accrual): void {
  const { day, plan_id, mailboxes, dedicated_ips, sent_mails } = accrual;
  if (changes.length === 0) return;
  const told = changes.findLast(({ from }) => from <= day)?.plan_id;
  // A managed IP without a plan is paid on the default plan. Nothing else is used without a plan.
  if (told === null && plan_id === defaultPlan && mailboxes + sent_mails === 0) return;
  // All simulated IPs are charged by the day. A day with sent mails and no service keeps the plan of the account if the
  // account has an IP.
  const hasService = dedicated_ips > 0 || mailboxes > 0 || sent_mails === 0;
  if (told && plans[told].needsDedicatedIp && dedicated_ips === 0 && (hasService || plan_id !== told))
    return mustHold(plan_id === defaultPlan, () => `${day} was recorded on ${plan_id} without a dedicated IP`);
  mustHold(told === plan_id, () => `${day} was recorded on ${plan_id}, and the account is on ${told} then`);
}

function noteStatus({ statuses }: Books, own: readonly Change[]): void {
  const changed = own.find(({ key }) => key.SK === "ACCOUNT");
  if (!changed) return;
  const { status, updated_at } = StoredAccount.parse(changed.after);
  if (own.some(({ key }) => key.SK === "BILLING")) statuses.push({ status, from: dayOf(new Date(updated_at)) });
  else statuses.length = 0;
}

/** Checks the days from `from` to the day before `to`, which were recorded just now. */
function checkService({ statuses, plans: changes, accruals }: Books, from: Day, to: Day): void {
  for (const day of daysBetween(from, plusDays(to, -1))) {
    const status = statuses.findLast((one) => one.from <= day)?.status;
    if (status === undefined || changes.length === 0) continue;
    const { mailboxes = 0, dedicated_ips = 0 } = accruals.get(day) ?? {};
    if (status === "suspended" || status === "closed")
      mustHold(mailboxes + dedicated_ips === 0, () => `${day} is charged, and the account was ${status}`);
    else if (changes.findLast((one) => one.from <= day)?.plan_id)
      mustHold(accruals.has(day), () => `${day} is free, and the account was ${status}`);
  }
}

/** Whether an invoice is for purchases that were paid after their days were invoiced, up to the day `end`. */
const isOfLate = ({ lines, period_end }: StoredInvoice, end: Day): boolean =>
  period_end <= end && lines.every(({ supplied_on }) => supplied_on !== undefined);

function checkInvoice({ accountId, accruals, invoices }: Books, invoice: StoredInvoice): void {
  const currency = currencyOf(accountId);
  mustHold(invoice.currency === currency, () => `${invoice.number} is in ${invoice.currency}, not in ${currency}`);
  const national = invoice.national_vat?.currency;
  mustHold(national !== currency, () => `${invoice.number} has its VAT twice in ${currency}`);
  const { number, lines, total, amount, period_start: from, period_end: to } = invoice;
  const sum = totalAmount(lines) + vatTotal(invoice);
  mustHold(total > 0 && total === sum && amount === money(total), () => `${number} does not add up`);
  const nets = (invoice.vat ?? []).reduce((all, { net }) => all + net, 0);
  mustHold(!invoice.vat || nets === totalAmount(lines), () => `${number} has VAT on another amount than its lines`);
  const usage = lines.filter(({ supplied_on }) => supplied_on === undefined).map(({ vat_row: _, ...line }) => line);
  mustHold(monthOf(from) === monthOf(to) && from <= to, () => `${number} is from ${from} to ${to}`);
  const isLate = invoices.some((one) => one.id < invoice.id && isOfLate(invoice, one.period_end));
  const days = isLate ? [] : [...accruals.values()].filter(({ day }) => from <= day && day <= to);
  const wanted = linesOf(
    days.toSorted((a, b) => a.day.localeCompare(b.day)),
    currency,
  );
  mustHold(JSON.stringify(wanted) === JSON.stringify(usage), () => `${number} has other lines than its days`);
}

/**
 * Checks that the ledger owes the VAT of all invoices. Checks that the invoices have the same sum of purchases as the
 * first `revenue_entries` entries of `revenue`.
 */
function checkVat({ invoices, owedVat, bought }: Books, state: BillingState): void {
  const vat = invoices.reduce((sum, invoice) => sum + vatTotal(invoice), 0);
  mustHold(vat === owedVat, () => `the invoices have VAT of ${vat}, and the ledger owes ${owedVat}`);
  const prepaid = invoices.reduce((sum, one) => sum + (one.prepaid ?? 0), 0);
  const seen = [...bought].reduce(
    (sum, [ordinal, amount]) => sum + (ordinal < (state.revenue_entries ?? 0) ? amount : 0),
    0,
  );
  mustHold(prepaid === seen, () => `purchases of ${seen} are settled, and invoices have ${prepaid} of them`);
}

function checkState(books: Books, state: BillingState): void {
  const { accountId, accruals, invoices, taken } = books;
  checkVat(books, state);
  let end = "";
  for (const [ordinal, invoice] of invoices.entries()) {
    const { number, status, period_start, period_end } = invoice;
    mustHold(
      number === numberOf(newSeries(accountId), ordinal + 1),
      () => `invoice ${ordinal + 1} has the number ${number}`,
    );
    const isNext = period_start > end || isOfLate(invoice, end);
    mustHold(isNext, () => `${number} begins on ${period_start}, and the one before ends on ${end}`);
    if (period_end > end) end = period_end;
    const paid = status === "paid" && dueOf(invoice) > 0 ? dueOf(invoice) : undefined;
    mustHold(taken.get(number) === paid, () => `${number} is ${status}, and ${taken.get(number)} was taken for it`);
  }
  mustHold(taken.size <= invoices.length, () => "an invoice was paid that is not there");
  mustHold(end < state.settle_from, () => `an invoice ends on ${end}, and ${state.settle_from} is not settled`);
  mustHold(state.settle_from <= state.accrue_from, () => `${state.settle_from} is settled before it is recorded`);
  mustHold(state.invoices === invoices.length, () => `${invoices.length} invoices, not ${state.invoices}`);
  const open = [...invoices.entries()].flatMap(([ordinal, { status }]) => (status === "open" ? [ordinal] : []));
  mustHold(open.join() === state.open.join(), () => `${open.join()} are open, not ${state.open.join()}`);
  const owes = open.length > 0 || state.owed > 0;
  mustHold(owes === (state.due_since !== undefined), () => `due since ${state.due_since}, and open are ${open.join()}`);
  checkDays(state, [...accruals.values()], invoices, currencyOf(accountId));
}

function checkDays(
  state: BillingState,
  accruals: readonly Accrual[],
  invoices: readonly StoredInvoice[],
  currency: string,
): void {
  const late = accruals.find(({ day }) => day >= state.accrue_from);
  mustHold(late === undefined, () => `${late?.day} is recorded, and ${state.accrue_from} is not`);
  const free = accruals.filter(
    ({ day }) =>
      day < state.settle_from &&
      !invoices.some(({ period_start, period_end }) => period_start <= day && day <= period_end),
  );
  for (const [month, days] of Map.groupBy(free, ({ day }) => monthOf(day))) {
    // Each part of a month that was settled by itself can cost less than half a cent.
    mustHold(totalAmount(linesOf(days, currency)) <= 1, () => `days of ${month} are settled and on no invoice`);
  }
}
