import * as z from "zod";

import { invalidAt, type InvalidInput } from "../core/errors.ts";
import { Currency, money, MoneyText } from "../core/money.ts";
import { Day, dayOf, daysBetween, monthOf, nextMonth, plusDays } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { PlanId, planAt } from "../wallet/catalogue.ts";
import { planOn, planToday } from "../wallet/state.ts";
import { aheadOfBillingView, openBillingView, type AccountBilling } from "./book.ts";
import { Accrual, accrualKey, linesOf, lineView, LineView, totalAmount, type Line } from "./charges.ts";
import { daysToInvoice, forecastMonth, PeriodCost } from "./forecast.ts";
import { invoicesOf, StoredInvoice } from "./invoices/invoice.ts";
import { aheadOfUsage } from "./usage.ts";

export const Period = z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, { error: "Write a month, such as 2026-11" });

const UsageDay = z
  .object({
    day: Day.meta({ description: "The day, in UTC." }),
    plan_id: PlanId.nullable().meta({
      description:
        "The plan by which the day is charged. If nothing is charged, the account's plan. Null if there is none.",
    }),
    mailboxes: z.int().meta({ description: "The mailboxes that are charged for the day." }),
    dedicated_ips: z.int().meta({
      description: "The managed dedicated IPs that are charged for the day, without those in their first days.",
    }),
    sent_mails: z.int().meta({ description: "The sent mails, one for each recipient." }),
    final: z
      .boolean()
      .meta({ description: "Whether the day is recorded. The numbers of other days can still change." }),
  })
  .meta({ id: "UsageDay", description: "The usage of an account on a day." });
type UsageDay = z.output<typeof UsageDay>;

export const MonthUsage = z
  .object({
    period: Period.meta({ description: "The month." }),
    period_start: Day.meta({ description: "The first day of the month." }),
    period_end: Day.meta({ description: "The last day of the month." }),
    days: z.array(UsageDay).meta({
      description:
        "The days of the month, oldest first, without days before the creation of the account and days after today.",
    }),
    lines: z
      .array(LineView)
      .meta({ description: "The cost of the days: the lines that an invoice has, or would have now." }),
    total: MoneyText.meta({ description: "The sum of the lines, without VAT." }),
    invoiced: MoneyText.meta({ description: "The part of the total that is on invoices already, without VAT." }),
    minimum: MoneyText.nullable().meta({
      description:
        "The least charge for the whole month, by today's plan. For a past month, by the plan of the last day in `days`. Null if there is no plan. The days so far have a part of the minimum of their plan. If their usage costs less than this part, the lines have the difference.",
    }),
    forecast: PeriodCost.nullable().meta({
      description:
        "A forecast of the next invoice. It assumes the present mailboxes and dedicated IPs, and as many mails a day as in the last seven days. Null for a past month.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  })
  .meta({ id: "MonthUsage", description: "The usage of an account in a month, and its cost." });
type MonthUsage = z.output<typeof MonthUsage>;

/** The items and ranges that `usageOf` reads for this month: the usage until now, and the usage in the forecast. */
export function aheadOfMonth(accountId: string): Ahead {
  const [billing, usage] = [aheadOfBillingView(accountId), aheadOfUsage(accountId, 2)];
  return { keys: [...billing.keys, ...usage.keys], ranges: [...(billing.ranges ?? []), ...usage.ranges] };
}

/**
 * The usage of an account in a month, by default in this month, and its cost. Throws 404 for an unknown account, and
 * 422 for a month that has not begun.
 */
export async function usageOf(accountId: string, period: string | undefined, context: Context): Promise<MonthUsage> {
  const { table, now } = context;
  const book = await openBillingView(table, accountId, now());
  const { currency } = book.account;
  const today = dayOf(book.now);
  const month = period === undefined ? monthOf(today) : `${period}-01`;
  if (month > today) throw notBegun();
  const end = plusDays(nextMonth(month), -1);
  const last = end < today ? end : today;
  const [invoiced, uninvoiced, periods, forecast] = await Promise.all([
    daysOnInvoices(table, book, month, last),
    daysToInvoice(table, book, { month, last }),
    month < book.state.settle_from ? invoicePeriods(table, accountId, month) : [],
    end < today ? null : forecastMonth(table, book, month),
  ]);
  const invoicedLines = periods.flatMap(({ period_start, period_end }) =>
    linesOf(
      invoiced.filter(({ day }) => day >= period_start && day <= period_end),
      currency,
    ),
  );
  const lines = [...invoicedLines, ...linesOf(uninvoiced, currency)];
  const days = usageDays(book, [...invoiced, ...uninvoiced], month, last);
  const plan = last < today ? days.at(-1)?.plan_id : planToday(book.state, today);
  return {
    period: month.slice(0, 7),
    period_start: month,
    period_end: end,
    days,
    ...chargesOf(lines, invoicedLines),
    minimum: plan ? money(planAt(plan, last, currency).minimum) : null,
    forecast,
    currency,
  };
}

const notBegun = (): InvalidInput =>
  invalidAt(["query", "period"], "This month has not begun. Write this month or an earlier one");

const chargesOf = (lines: readonly Line[], invoiced: readonly Line[]) => ({
  lines: lines.map(lineView),
  total: money(totalAmount(lines)),
  invoiced: money(totalAmount(invoiced)),
});

/** The recorded days of a month up to `last` whose charges are on invoices. */
async function daysOnInvoices(
  table: Reader,
  { accountId, state: { settle_from } }: AccountBilling,
  month: Day,
  last: Day,
): Promise<Accrual[]> {
  const end = plusDays(settle_from, -1) < last ? plusDays(settle_from, -1) : last;
  if (end < month) return [];
  const [from, to] = [accrualKey(accountId, month), accrualKey(accountId, end)];
  return (await table.between(from.PK, from.SK, to.SK)).map((item) => Accrual.parse(item));
}

/**
 * The number of invoices that one read returns. Each invoice is for one month, and most accounts have one invoice a
 * month, so one read usually covers about two years.
 */
const pageSize = 25;

/** The periods of the invoices of a month, oldest first. */
async function invoicePeriods(
  table: Reader,
  accountId: string,
  month: Day,
): Promise<Pick<StoredInvoice, "period_start" | "period_end">[]> {
  const found = new Map<string, StoredInvoice>();
  for (let isMore = true; isMore;) {
    const span = { skip: found.size, take: pageSize, order: "desc" } as const;
    const { rows, total } = await readRows(table, invoicesOf(accountId), span);
    const invoices = rows.map((row) => StoredInvoice.parse(row));
    for (const invoice of invoices) found.set(invoice.id, invoice);
    isMore = found.size < total && (invoices.at(-1)?.period_start ?? "") >= month;
  }
  const next = nextMonth(month);
  const inMonth = [...found.values()].filter(({ period_start }) => period_start >= month && period_start < next);
  // Many purchases make several invoices of one period. A purchase that is paid after the account was closed, or after
  // the plan was cancelled immediately, makes an invoice for a day that is on another invoice already. So each period
  // is taken once, and a period that begins within an earlier period is left out.
  const periods = [...new Map(inMonth.map((invoice) => [invoice.period_start, invoice])).values()].toReversed();
  return periods.filter(({ period_start }, index) =>
    periods.slice(0, index).every(({ period_end }) => period_end < period_start),
  );
}

/** Every day of a month up to `last`, since the account was created. A day without usage has zeros. */
function usageDays(
  { account, state }: AccountBilling,
  accruals: readonly Accrual[],
  month: Day,
  last: Day,
): UsageDay[] {
  const byDay = new Map(accruals.map((accrual) => [accrual.day, accrual]));
  const created = dayOf(new Date(account.created_at));
  return daysBetween(created > month ? created : month, last).map((day) => ({
    day,
    plan_id: planOn(state, day),
    mailboxes: 0,
    dedicated_ips: 0,
    sent_mails: 0,
    ...byDay.get(day),
    final: day < state.accrue_from,
  }));
}
