import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { dayOf, daysInMonth, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { billing, use } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

// The clock stands still, so that the day does not end while the tests run.
const now = new Date();
const today = dayOf(now);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => void vi.useRealTimers());

test("an account that chose no plan is on the default plan", async () => {
  expect((await billing(await newAccount(), "GET", "current-plan")).body).toEqual({
    plan_id: "per_mailbox",
    plan_name: "Per mailbox",
    status: "active",
    price: "5.00",
    minimum: "5.00",
    prices: { mailbox_per_month: "3.00", dedicated_ip_per_month: "25.00", thousand_sent_mails: "0.00" },
    next_invoice: {
      period_start: today,
      period_end: plusDays(nextMonth(today), -1),
      due_on: nextMonth(today),
      // The part of the monthly minimum for one day.
      total_so_far: (Math.round(500 / daysInMonth(today)) / 100).toFixed(2),
    },
    currency: "USD",
    billing_period: "month",
    can_change_plan: true,
    can_cancel_plan: true,
  });
});

test("the next invoice has the cost of the month's usage so far", async () => {
  const account = await newAccount();
  await use(account, 500);
  const { total } = (await billing(account, "GET", "usage")).body;
  expect(Number(total)).toBeGreaterThan(45);
  expect((await billing(account, "GET", "current-plan")).body.next_invoice.total_so_far).toBe(total);
});

test("a plan that ends with the month is cancelling, and can be cancelled immediately or changed", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", {});
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    plan_id: "per_mailbox",
    status: "cancelling",
    can_cancel_plan: true,
    can_change_plan: true,
  });
});

test("after an immediate cancellation the status is cancelled, and all members of the plan are null", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", { cancel_immediately: true });
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    plan_id: null,
    plan_name: null,
    price: null,
    minimum: null,
    prices: null,
    next_invoice: null,
    status: "cancelled",
    can_cancel_plan: false,
  });
});
