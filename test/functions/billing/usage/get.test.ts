import { expect, test } from "vitest";

import { dayOf, daysInMonth, monthOf, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { billing, closeDays, use } from "../../../support/billing.ts";
import { newAccount, newMember, type Account } from "../../../support/world.ts";

const today = (): string => dayOf(new Date());
const usageOf = async (account: Account, query = "") => (await billing(account, "GET", `usage${query}`)).body;

test("shows today's usage before it is recorded, with the cost that an invoice would have", async () => {
  const account = await newAccount();
  await use(account, 310);
  const days = daysInMonth(today());
  const cents = Math.round((310 * 300) / days);
  const price = (cents / 100).toFixed(2);
  expect(await usageOf(account)).toMatchObject({
    period: today().slice(0, 7),
    period_start: monthOf(today()),
    period_end: plusDays(nextMonth(today()), -1),
    days: [{ day: today(), plan_id: "per_mailbox", mailboxes: 310, dedicated_ips: 0, sent_mails: 0, final: false }],
    lines: [
      {
        description: "Per mailbox: mailboxes",
        quantity: `310 mailbox-days / ${days}`,
        unit_price: "3.00",
        amount: price,
      },
    ],
    total: price,
    invoiced: "0.00",
    minimum: "5.00",
    currency: "USD",
  });
});

test("an account without usage pays the minimum, and has a line that says so", async () => {
  const { lines, total, minimum } = await usageOf(await newAccount());
  expect(lines).toEqual([expect.objectContaining({ description: "Per mailbox: up to the minimum", amount: total })]);
  expect(minimum).toBe("5.00");
});

test("a recorded day is final, and its charge stays the same", async () => {
  const account = await newAccount();
  await use(account, 7);
  const before = await usageOf(account);
  await closeDays(account, today());
  const { days, total } = await usageOf(account);
  expect(days).toEqual([{ ...before.days[0], final: true }]);
  expect(total).toBe(before.total);
});

test("the cost of an immediately cancelled plan is invoiced, and the rest of the month costs nothing", async () => {
  const account = await newAccount();
  await use(account, 7);
  const { total } = await usageOf(account);
  await billing(account, "POST", "cancel-plan", { cancel_immediately: true });
  const after = await usageOf(account);
  expect(after).toMatchObject({ total, invoiced: total, minimum: null, forecast: { lines: [], total: "0.00" } });
  expect(after.days).toEqual([expect.objectContaining({ day: today(), mailboxes: 7, final: true })]);
  expect((await billing(account, "GET", "invoices")).body.items[0].amount).toBe(total);
});

test("a past month has its recorded days; a month before the account is empty; a future month is a 422", async () => {
  const account = await newAccount();
  expect(await usageOf(account, "?period=2020-02")).toMatchObject({
    period_end: "2020-02-29",
    days: [],
    lines: [],
    total: "0.00",
    minimum: null,
    forecast: null,
  });
  const next = nextMonth(today()).slice(0, 7);
  for (const period of [next, "2026-13"]) {
    const { status, body } = await billing(account, "GET", `usage?period=${period}`);
    expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc: ["query", "period"] })]]);
  }
});

test("needs billing.view", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const { body } = await billing(account, "GET", "usage", undefined, viewer);
  expect(body).toMatchObject({ status: 403, required_capability: "billing.view" });
});
