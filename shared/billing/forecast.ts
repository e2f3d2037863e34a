import * as z from "zod";

import { money, MoneyText } from "../core/money.ts";
import { Day, dayOf, daysBetween, nextMonth, plusDays } from "../core/time.ts";
import { readSent } from "../mail/usage/sent.ts";
import type { Reader } from "../table/table.ts";
import { vatRule } from "../wallet/vat.ts";
import type { AccountBilling } from "./book.ts";
import { lineView, LineView, usageCost, type Accrual } from "./charges.ts";
import { usageOfDays } from "./usage.ts";

/** The number of days before today from which the mails of future days are estimated. */
const sampleDays = 7;

/**
 * The estimated number of mails that an account sends on a day: the mean of the last seven days. For a newer account,
 * it is the mean of all days since the creation of the account.
 */
async function mailsPerDay(table: Reader, { accountId, account, now }: AccountBilling): Promise<number> {
  const today = dayOf(now);
  const [created, earliest] = [dayOf(new Date(account.created_at)), plusDays(today, -sampleDays)];
  const yesterday = plusDays(today, -1);
  const days = daysBetween(created > earliest ? created : earliest, yesterday);
  if (days[0] === undefined) return 0;
  const sent = await readSent(table, accountId, days[0], yesterday);
  return Math.round([...sent.values()].reduce((sum, count) => sum + count, 0) / days.length);
}

/**
 * The days of one month up to `last` that are on no invoice yet: recorded days as they are stored, other days up to
 * today with their usage so far, and future days with the present mailboxes and dedicated IPs. Today and each future
 * day on a plan have at least `mails` sent mails.
 */
export async function daysToInvoice(
  table: Reader,
  book: AccountBilling,
  { month, last, mails = 0 }: { month: Day; last: Day; mails?: number },
): Promise<Accrual[]> {
  const { settle_from, accrue_from } = book.state;
  const first = month > settle_from ? month : settle_from;
  const unrecorded = accrue_from > first ? accrue_from : first;
  const recorded = book.accruals.filter(({ day }) => day >= first && day <= last && day < unrecorded);
  return [...recorded, ...(await usageOfDays(table, book, unrecorded, last, mails))];
}

export const PeriodCost = z
  .object({
    period_start: Day.meta({ description: "The first day of the period." }),
    period_end: Day.meta({ description: "The last day of the period." }),
    lines: z.array(LineView).meta({ description: "The lines of the invoice for the period." }),
    vat: MoneyText.meta({
      description:
        "The VAT on the lines. Each past day has the VAT that applied on that day. Today and later days have the VAT by the present billing profile.",
    }),
    total: MoneyText.meta({
      description:
        "The amount that the wallet will pay: the lines and their VAT. Purchases are not included, because the wallet has paid them before.",
    }),
  })
  .meta({ id: "PeriodCost", description: "The cost of a billing period." });
export type PeriodCost = z.output<typeof PeriodCost>;

/**
 * A forecast of the next invoice for a month. It assumes the present mailboxes and dedicated IPs, and as many mails a
 * day as the mean of the last seven days (`mailsPerDay`). Days of the month that are on an invoice already are left
 * out.
 */
export async function forecastMonth(table: Reader, book: AccountBilling, month: Day): Promise<PeriodCost> {
  const last = plusDays(nextMonth(month), -1);
  const days = await daysToInvoice(table, book, { month, last, mails: await mailsPerDay(table, book) });
  const { groups, net, vat } = usageCost(days, vatRule(book.profile, dayOf(book.now)), book.account.currency);
  const { settle_from } = book.state;
  return {
    period_start: settle_from > month && settle_from <= last ? settle_from : month,
    period_end: last,
    lines: groups.flatMap(({ lines }) => lines.map(lineView)),
    vat: money(vat),
    total: money(net + vat),
  };
}
