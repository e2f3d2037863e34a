import * as z from "zod";

import { divideHalfUp, money, MoneyText } from "../core/money.ts";
import { countText } from "../core/text.ts";
import { Day, daysInMonth } from "../core/time.ts";
import type { Key } from "../table/writes.ts";
import { type Plan, PlanId, planAt } from "../wallet/catalogue.ts";
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
   * The VAT rule of the day. Absent if no VAT was configured when the day was recorded, or if an earlier version
   * recorded the day without VAT. If absent, the invoice charges the day by the rule of the day of the invoice.
   */
  vat: VatRule.optional(),
});
export type Accrual = z.output<typeof Accrual>;

/** One line of an invoice or a credit note. `amount` and `unit_price` are in minor units, without VAT. */
export const Line = z.object({
  description: z.string(),
  quantity: z.string(),
  unit_price: z.int(),
  amount: z.int(),
  /** The day of a purchase, which the wallet paid before the invoice. Absent on other lines. */
  supplied_on: Day.optional(),
  /** The index of the line's VAT in the invoice's `vat`. Absent on invoices without VAT. */
  vat_row: z.int().optional(),
});
export type Line = z.output<typeof Line>;

/** A line as callers see it. */
export const LineView = z
  .object({
    description: z.string().meta({ description: "What is charged or credited, for people." }),
    quantity: z.string().meta({
      description:
        "The quantity, such as `310 mailbox-days / 31`: the sum of the mailboxes of each day, divided by the days of the month.",
    }),
    unit_price: MoneyText.meta({ description: "The price of one unit, without VAT." }),
    amount: MoneyText.meta({ description: "The amount of the line, without VAT." }),
    supplied_on: Day.nullable().meta({
      description: "The day of a purchase, which the wallet paid before the invoice. Null on other lines.",
    }),
  })
  .meta({ id: "InvoiceLine", description: "One line of an invoice or a credit note." });

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
 * - Each plan has its own lines for each VAT rule, at the prices of the month. If all lines of a plan together cost
 *   less than the plan's minimum for its days, another line adds the difference. This line has the VAT of the plan's
 *   last day.
 */
export const linesOf = (accruals: readonly Accrual[], currency: string): Line[] =>
  usageGroups(accruals, noVat, currency).flatMap(({ lines }) => lines);

/** Lines of usage that have the same VAT. */
export type UsageGroup = { rule: VatRule; lines: Line[] };

/**
 * The invoice lines for days of one month, grouped by VAT. `accruals` are oldest first. Days without their own VAT rule
 * get the rule `present`.
 */
function usageGroups(accruals: readonly Accrual[], present: VatRule, currency: string): UsageGroup[] {
  const ruleOf = ({ vat = present }: Accrual): string => vatKey(vat);
  const groups = new Map<string, UsageGroup>();
  for (const day of accruals) groups.set(ruleOf(day), { rule: day.vat ?? present, lines: [] });
  for (const [id, days] of Map.groupBy(accruals, ({ plan_id }) => plan_id)) {
    let used = 0;
    for (const [rule, daysOfRule] of Map.groupBy(days, ruleOf)) {
      const lines = usedLines(id, daysOfRule, currency);
      used += totalAmount(lines);
      groups.get(rule)?.lines.push(...lines);
    }
    const last = days.at(-1);
    if (last) groups.get(ruleOf(last))?.lines.push(...minimumLines(id, days, used, currency));
  }
  return [...groups.values()];
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

/** A plan with its prices in the month of these days, and the number of days in the month. Needs one day at least. */
function planOfMonth(id: PlanId, [first]: readonly Accrual[], currency: string): { plan: Plan; monthDays: number } {
  const day = first?.day ?? "1970-01-01";
  return { plan: planAt(id, day, currency), monthDays: daysInMonth(day) };
}

/** The lines for the usage of days on a plan, without the minimum. */
function usedLines(id: PlanId, days: readonly Accrual[], currency: string): Line[] {
  const { plan, monthDays } = planOfMonth(id, days, currency);
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
  return [
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
}

/**
 * The line that raises the cost of some days to the plan's minimum for these days. `used` is the cost of the usage. No
 * line if the usage reaches the minimum.
 */
function minimumLines(id: PlanId, days: readonly Accrual[], used: number, currency: string): Line[] {
  const { plan, monthDays } = planOfMonth(id, days, currency);
  const amount = divideHalfUp(plan.minimum * days.length, monthDays) - used;
  const quantity = `${days.length} of ${monthDays} days`;
  return amount <= 0
    ? []
    : [{ description: `${plan.name}: up to the minimum`, quantity, unit_price: plan.minimum, amount }];
}

export const totalAmount = (lines: readonly Line[]): number => sumOf(lines.map(({ amount }) => amount));
