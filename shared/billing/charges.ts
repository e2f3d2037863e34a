import * as z from "zod";

import { divideHalfUp, money, MoneyText } from "../core/money.ts";
import { countText } from "../core/text.ts";
import { Day, daysInMonth } from "../core/time.ts";
import type { Key } from "../table/writes.ts";
import { PlanId, planAt } from "../wallet/catalogue.ts";
import { noVat, vatKey, vatOn, VatRule } from "../wallet/vat.ts";

/*
 * Access patterns
 *   the usage of an account on a day   ACCOUNT#<id> / ACCRUAL#<day>
 */
export const accrualKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `ACCRUAL#${day}` });

/**
 * The usage and the plan of an account on one day. An accrual has quantities and no amounts of money, so that amounts
 * are not rounded every day.
 */
export const Accrual = z.object({
  day: Day,
  plan_id: PlanId,
  mailboxes: z.int().min(0),
  dedicated_ips: z.int().min(0),
  sent_mails: z.int().min(0),
  /**
   * The VAT rule of the day. Absent if no VAT was charged, or if the day is older than the recording of VAT. The
   * invoice then uses the present rule.
   */
  vat: VatRule.optional(),
});
export type Accrual = z.output<typeof Accrual>;

/** One line of an invoice. `amount` and `unit_price` are in minor units, without VAT. */
export const Line = z.object({
  description: z.string(),
  quantity: z.string(),
  unit_price: z.int(),
  amount: z.int(),
  /** The day of a purchase, which the wallet paid before the invoice. Absent for usage. */
  supplied_on: Day.optional(),
  /** The index of the line's VAT in the invoice's `vat`. Absent on invoices without VAT. */
  vat_row: z.int().optional(),
});
export type Line = z.output<typeof Line>;

/** A line as callers see it. */
export const LineView = z
  .object({
    description: z.string().meta({ description: "What is charged: the plan and its unit, or a purchase." }),
    quantity: z.string().meta({
      description:
        "The quantity, such as `310 mailbox-days / 31`: the sum of the mailboxes of each day, divided by the days of the month.",
    }),
    unit_price: MoneyText.meta({ description: "The price of one unit, without VAT." }),
    amount: MoneyText.meta({ description: "The price of the quantity, without VAT." }),
    supplied_on: Day.nullable().meta({
      description: "The day of a purchase, which the wallet paid before the invoice. Null for usage.",
    }),
  })
  .meta({ id: "InvoiceLine", description: "One line of an invoice." });

export const lineView = ({ unit_price, amount, supplied_on, ...line }: Line): z.output<typeof LineView> => ({
  ...line,
  unit_price: money(unit_price),
  amount: money(amount),
  supplied_on: supplied_on ?? null,
});

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/**
 * The invoice lines for days of one month, in the account's currency.
 * - A monthly price is charged by the day: price × sum of the daily quantities ÷ days of the month. Each line is
 *   rounded once.
 * - Each plan has its own lines for each VAT, at the prices of the month. If these lines cost less than the plan's
 *   minimum for their days, another line adds the difference.
 */
export const linesOf = (accruals: readonly Accrual[], currency: string): Line[] =>
  usageGroups(accruals, noVat, currency).flatMap(({ lines }) => lines);

/** Lines of usage that have the same VAT. */
export type UsageGroup = { rule: VatRule; lines: Line[] };

/** The invoice lines for days of one month, grouped by VAT. Days without their own VAT rule get the rule `present`. */
function usageGroups(accruals: readonly Accrual[], present: VatRule, currency: string): UsageGroup[] {
  const byRule = Map.groupBy(accruals, ({ vat = present }) => vatKey(vat));
  return [...byRule.values()].map((days) => {
    const byPlan = Map.groupBy(days, ({ plan_id }) => plan_id);
    return { rule: days[0]?.vat ?? present, lines: [...byPlan].flatMap(([id, some]) => planLines(id, some, currency)) };
  });
}

/**
 * The cost of some days of one month, in minor units: `net` without VAT, and the `vat` on it, rounded once for each
 * group.
 */
export function usageCost(
  accruals: readonly Accrual[],
  present: VatRule,
  currency: string,
): { groups: UsageGroup[]; net: number; vat: number } {
  const groups = usageGroups(accruals, present, currency);
  const net = sumOf(groups.map(({ lines }) => totalAmount(lines)));
  return { groups, net, vat: sumOf(groups.map(({ lines, rule }) => vatOn(totalAmount(lines), rule))) };
}

function planLines(id: PlanId, days: readonly Accrual[], currency: string): Line[] {
  const first = days[0]?.day ?? "1970-01-01";
  const [plan, monthDays] = [planAt(id, first, currency), daysInMonth(first)];
  const dailyLine = (item: string, unit: string, quantities: readonly number[], price: number): Line[] => {
    const quantity = sumOf(quantities);
    if (quantity === 0 || price === 0) return [];
    return [
      {
        description: `${plan.name}: ${item}`,
        quantity: `${countText(quantity, `${unit}-day`)} / ${monthDays}`,
        unit_price: price,
        amount: divideHalfUp(quantity * price, monthDays),
      },
    ];
  };
  const mails = sumOf(days.map(({ sent_mails }) => sent_mails));
  const lines = [
    ...dailyLine(
      "mailboxes",
      "mailbox",
      days.map(({ mailboxes }) => mailboxes),
      plan.prices.mailbox,
    ),
    ...dailyLine(
      "dedicated IPs",
      "IP",
      days.map(({ dedicated_ips }) => dedicated_ips),
      plan.prices.dedicatedIp,
    ),
    ...(mails === 0 || plan.prices.sentMails === 0
      ? []
      : [
          {
            description: `${plan.name}: sent mails, by the thousand`,
            quantity: countText(mails, "mail"),
            unit_price: plan.prices.sentMails,
            amount: divideHalfUp(mails * plan.prices.sentMails, 1_000),
          },
        ]),
  ].filter(({ amount }) => amount > 0);
  const missing = divideHalfUp(plan.minimum * days.length, monthDays) - sumOf(lines.map(({ amount }) => amount));
  if (missing <= 0) return lines;
  const rest = {
    description: `${plan.name}: up to the minimum`,
    quantity: `${days.length} of ${monthDays} days`,
    unit_price: plan.minimum,
    amount: missing,
  };
  return [...lines, rest];
}

export const totalAmount = (lines: readonly Line[]): number => sumOf(lines.map(({ amount }) => amount));
