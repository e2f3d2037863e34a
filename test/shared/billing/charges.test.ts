import fc from "fast-check";
import { expect, test } from "vitest";

import { linesOf as linesIn, totalAmount, usageCost, type Accrual } from "../../../shared/billing/charges.ts";
import { daysInMonth, plusDays } from "../../../shared/core/time.ts";
import { plans, type PlanId } from "../../../shared/wallet/catalogue.ts";
import { noVat } from "../../../shared/wallet/vat.ts";

const linesOf = (days: readonly Accrual[]) => linesIn(days, "USD");

const nothing = { plan_id: "per_mailbox", mailboxes: 0, dedicated_ips: 0, sent_mails: 0 } as const;

/** `count` days with the same usage, from the first day of the month on. */
const daysOf = (month: string, count: number, what: Partial<Accrual>): Accrual[] =>
  Array.from({ length: count }, (_, index) => ({ ...nothing, day: plusDays(`${month}-01`, index), ...what }));

const quantity = fc.integer({ min: 0, max: 5_000 });
const anyDays = fc.constantFrom("2026-01", "2026-02", "2028-02", "2026-04").chain((month) =>
  fc.subarray(daysOf(month, daysInMonth(`${month}-01`), {})).chain((days) =>
    fc.tuple(
      ...days.map(({ day }) =>
        fc.record({
          day: fc.constant(day),
          plan_id: fc.constantFrom(...(Object.keys(plans) as PlanId[])),
          mailboxes: quantity,
          dedicated_ips: quantity,
          sent_mails: quantity,
        }),
      ),
    ),
  ),
);

test("a whole month costs its price, however long the month is", () => {
  for (const month of ["2026-01", "2026-02", "2028-02", "2026-04"]) {
    const days = daysOf(month, daysInMonth(`${month}-01`), { mailboxes: 7 });
    expect(totalAmount(linesOf(days))).toBe(7 * plans.per_mailbox.prices.mailbox);
  }
});

test.for([
  ["5 mailboxes for 1 day of 31, 1500 ÷ 31 = 48.39", "2026-01", 1, { mailboxes: 5 }, 48],
  ["5 mailboxes for 7 days of 28, 375", "2026-02", 7, { mailboxes: 5 }, 375],
  ["5 mailboxes for 7 days of 29, 10500 ÷ 29 = 362.07", "2028-02", 7, { mailboxes: 5 }, 362],
  ["a dedicated IP for half a month, 4950", "2026-04", 15, { plan_id: "per_dedicated_ip", dedicated_ips: 1 }, 4_950],
  ["12 mails, 0.48", "2026-04", 1, { plan_id: "per_dedicated_ip", sent_mails: 12 }, 0],
  ["13 mails, 0.52", "2026-04", 1, { plan_id: "per_dedicated_ip", sent_mails: 13 }, 1],
  ["312 mails, 12.48", "2026-04", 1, { plan_id: "per_dedicated_ip", sent_mails: 312 }, 12],
  ["the minimum of a plan for 14 days of 28, 250", "2026-02", 14, {}, 250],
  ["the minimum of a plan for 5 days of 31, 80.65", "2026-01", 5, {}, 81],
] as const)("the price in cents is rounded to the nearest cent: %s", ([, month, count, what, cents]) => {
  expect(totalAmount(linesOf(daysOf(month, count, what)))).toBe(cents);
});

test("the price of sent mails is rounded once for the month, not for each day", () => {
  const cost = (days: number, sent_mails: number) =>
    totalAmount(linesOf(daysOf("2026-04", days, { plan_id: "per_dedicated_ip", sent_mails })));
  expect([cost(1, 12), cost(2, 12), cost(25, 1), cost(30, 25_000_012)]).toEqual([0, 1, 1, 30_000_014]);
});

test("only the missing part of the minimum is charged", () => {
  const lines = linesOf(daysOf("2026-04", 30, { mailboxes: 1 }));
  expect(lines.map(({ amount }) => amount)).toEqual([300, 200]);
  expect(linesOf(daysOf("2026-04", 30, { mailboxes: 2 })).map(({ amount }) => amount)).toEqual([600]);
});

test("two plans in one month have lines of their own, each with its days and its minimum", () => {
  const days = [
    ...daysOf("2026-04", 10, {}),
    ...daysOf("2026-04", 30, { plan_id: "per_dedicated_ip", dedicated_ips: 1 }).slice(10),
  ];
  expect(linesOf(days).map(({ description, quantity, amount }) => [description, quantity, amount])).toEqual([
    ["Per mailbox: up to the minimum", "10 of 30 days", 167],
    ["Per dedicated IP: dedicated IPs", "20 IP-days / 30", 6_600],
  ]);
});

test("if the VAT changes during a month, the plan still has one minimum, and the missing part has the VAT of the last day", () => {
  const [german, irish] = [
    { treatment: "oss", country: "DE", rate: 1_900 },
    { treatment: "domestic", country: "IE", rate: 2_300 },
  ] as const;
  const costs = (mailboxes: number) => {
    const later = daysOf("2026-04", 30, { vat: irish }).slice(15);
    return usageCost([...daysOf("2026-04", 15, { mailboxes, vat: german }), ...later], noVat, "USD");
  };
  // 100 mailboxes for half a month cost more than the minimum of the whole month.
  expect(costs(100)).toMatchObject({ net: 15_000, vat: 2_850, groups: [{ rule: german }, { lines: [] }] });
  expect(costs(2).groups).toMatchObject([
    { rule: german, lines: [{ amount: 300 }] },
    { rule: irish, lines: [{ description: "Per mailbox: up to the minimum", quantity: "30 of 30 days", amount: 200 }] },
  ]);
});

test("lines are above zero, add up to the total, and reach the minimum", () => {
  fc.assert(
    fc.property(anyDays, (days) => {
      const lines = linesOf(days);
      for (const { amount } of lines) expect(amount).toBeGreaterThan(0);
      expect(totalAmount(lines)).toBe(lines.reduce((sum, { amount }) => sum + amount, 0));
      const mailboxDays = days.filter(({ plan_id }) => plan_id === "per_mailbox");
      const least = (plans.per_mailbox.minimum * mailboxDays.length) / daysInMonth(days[0]?.day ?? "2026-01-01");
      expect(totalAmount(lines)).toBeGreaterThanOrEqual(Math.floor(least));
    }),
  );
});

test("using more never costs less, and the line of dedicated IPs differs from its exact amount by at most half a cent", () => {
  fc.assert(
    fc.property(anyDays, fc.nat(), (days, place) => {
      const more = days.map((day, index) =>
        index === place % Math.max(1, days.length)
          ? { ...day, mailboxes: day.mailboxes + 1, sent_mails: day.sent_mails + 1 }
          : day,
      );
      expect(totalAmount(linesOf(more))).toBeGreaterThanOrEqual(totalAmount(linesOf(days)));
      const ips = days.filter(({ plan_id }) => plan_id === "per_dedicated_ip");
      const exact = ips.reduce((sum, { dedicated_ips, day }) => sum + (9_900 * dedicated_ips) / daysInMonth(day), 0);
      const line = linesOf(ips).find(({ description }) => description.endsWith("dedicated IPs"));
      expect(Math.abs((line?.amount ?? 0) - exact)).toBeLessThanOrEqual(0.5 + 1e-6);
    }),
  );
});
