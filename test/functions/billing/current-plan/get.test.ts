import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { handler as advanceRecharges } from "../../../../functions/workers/advance-recharges.ts";
import { handler as watchWallets } from "../../../../functions/workers/watch-wallets.ts";
import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { dayMs, dayOf, daysInMonth, nextMonth, plusDays, setClockAhead } from "../../../../shared/core/time.ts";
import { planWallet } from "../../../../shared/wallet/wallet.ts";
import { billing, closeDays, fund, use } from "../../../support/billing.ts";
import { request } from "../../../support/request.ts";
import { chargeOf, saveTestCard, takePaymentBack, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

// The clock stands still, so that the day does not end while the tests run.
const now = new Date();
const today = dayOf(now);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => {
  vi.useRealTimers();
  setClockAhead(0);
});

/** Takes an amount out of the wallet, in minor units. */
async function spend({ id }: Pick<Account, "id">, amount: number): Promise<void> {
  const sides = { debit: "wallet", credit: "revenue", code: "invoice", type: "charge" } as const;
  await testTable().commit(async () => {
    const posting = { kind: "transfer", id: "test/spent", amount, description: "Spent", ...sides } as const;
    const { writes } = await planWallet(testTable(), id, [posting], now);
    return { value: undefined, writes };
  });
}

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

test("a plan is past due while the account owes a payment that was taken back, and can be changed as it says", async () => {
  const account = await newAccount();
  await saveTestCard(account, "disputes");
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  await watchWallets({ detail: { account_id: account.id } });
  await advanceRecharges();
  const { last_recharge } = (await billing(account, "GET", "auto-recharge")).body;
  const { id } = await chargeOf(last_recharge.id);
  await billing(account, "PATCH", "auto-recharge", { enabled: false });
  await spend(account, 2_000);
  await tellProduct(await takePaymentBack(id, "dispute"));
  expect((await request("GET", `/v1/public/accounts/${account.id}`, account.owner)).body.status).toBe("past_due");
  const current = async () => (await billing(account, "GET", "current-plan")).body;
  expect(await current()).toMatchObject({ status: "past_due", can_change_plan: true });
  expect((await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip" })).status).toBe(200);
  await fund(account, 2_000);
  await closeDays(account, plusDays(today, -1));
  expect(await current()).toMatchObject({ status: "active", can_change_plan: true });
});

test("a suspended account keeps its plan, and can neither change nor cancel it", async () => {
  const account = await newAccount();
  await setAccountStatus(testTable(), account.id, "suspended", now);
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    plan_id: "per_mailbox",
    status: "active",
    price: "5.00",
    can_change_plan: false,
    can_cancel_plan: false,
  });
});

test("a closed account has no plan, no coming invoice, and no minimum", async () => {
  const account = await newAccount();
  await setAccountStatus(testTable(), account.id, "closed", now);
  const closed = {
    plan_id: null,
    plan_name: null,
    status: "cancelled",
    price: null,
    minimum: null,
    prices: null,
    next_invoice: null,
    can_change_plan: false,
    can_cancel_plan: false,
  };
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject(closed);
  const { plans } = (await billing(account, "GET", "plans")).body;
  const told = plans.map(({ is_current, begins_on, ends_on }: Record<string, unknown>) => [
    is_current,
    begins_on,
    ends_on,
  ]);
  expect(told).toEqual(plans.map(() => [false, null, null]));
  const usage = (await billing(account, "GET", "usage")).body;
  expect(usage).toMatchObject({ minimum: null, days: [{ day: today, plan_id: "per_mailbox" }] });
  expect(usage.forecast.total).toBe("0.00");
  setClockAhead(dayMs);
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject(closed);
  const { days, minimum } = (await billing(account, "GET", "usage")).body;
  expect([days.at(-1).plan_id, minimum]).toEqual([null, null]);
});
