import * as z from "zod";

import { Day, daysInMonth } from "../core/time.ts";
import type { Key } from "../table/writes.ts";
import { PlanId, planAt } from "../wallet/catalogue.ts";

/*
 * Access patterns
 *   what an account used on a day   ACCOUNT#<id> / ACCRUAL#<day>
 */
export const accrualKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `ACCRUAL#${day}` });

/**
 * The usage of an account on one day, and its plan on that day. It has quantities and no amounts of money, so that
 * amounts are not rounded every day.
 */
export const Accrual = z.object({
  day: Day,
  plan_id: PlanId,
  mailboxes: z.int().min(0),
  dedicated_ips: z.int().min(0),
  sent_mails: z.int().min(0),
});
export type Accrual = z.output<typeof Accrual>;

/** One line of an invoice; `amount` and `unit_price` are minor units. */
export const Line = z.object({
  description: z.string(),
  quantity: z.string(),
  unit_price: z.int(),
  amount: z.int(),
});
export type Line = z.output<typeof Line>;

/** Divides whole numbers and rounds half up: 5/2 → 3. */
const divideHalfUp = (numerator: number, denominator: number): number =>
  Number((2n * BigInt(numerator) + BigInt(denominator)) / (2n * BigInt(denominator)));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/**
 * The invoice lines for days of one month.
 * - A price for a month is charged by the day: quantity × days ÷ days of the month, rounded once per line.
 * - Each plan has its own lines, at the month's prices. Its minimum is charged for the days on it.
 */
export function linesOf(accruals: readonly Accrual[]): Line[] {
  const byPlan = Map.groupBy(accruals, ({ plan_id }) => plan_id);
  return [...byPlan].flatMap(([id, days]) => planLines(id, days));
}

function planLines(id: PlanId, days: readonly Accrual[]): Line[] {
  const first = days[0]?.day ?? "1970-01-01";
  const [plan, monthDays] = [planAt(id, first), daysInMonth(first)];
  const byDay = (what: string, unit: string, quantities: readonly number[], price: number): Line[] => {
    const quantity = sum(quantities);
    if (quantity === 0 || price === 0) return [];
    return [
      {
        description: `${plan.name}: ${what}`,
        quantity: `${quantity} ${unit}-days / ${monthDays}`,
        unit_price: price,
        amount: divideHalfUp(quantity * price, monthDays),
      },
    ];
  };
  const mails = sum(days.map(({ sent_mails }) => sent_mails));
  const lines = [
    ...byDay(
      "mailboxes",
      "mailbox",
      days.map(({ mailboxes }) => mailboxes),
      plan.prices.mailbox,
    ),
    ...byDay(
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
            quantity: `${mails} mails`,
            unit_price: plan.prices.sentMails,
            amount: divideHalfUp(mails * plan.prices.sentMails, 1_000),
          },
        ]),
  ].filter(({ amount }) => amount > 0);
  const missing = divideHalfUp(plan.minimum * days.length, monthDays) - sum(lines.map(({ amount }) => amount));
  if (missing <= 0) return lines;
  const rest = {
    description: `${plan.name}: up to the minimum`,
    quantity: `${days.length} of ${monthDays} days`,
    unit_price: plan.minimum,
    amount: missing,
  };
  return [...lines, rest];
}

export const totalAmount = (lines: readonly Line[]): number => sum(lines.map(({ amount }) => amount));
