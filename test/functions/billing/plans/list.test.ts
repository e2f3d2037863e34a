import { afterEach, expect, test, vi } from "vitest";

import { dayOf, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { billing } from "../../../support/billing.ts";
import { newAccount, newMember, type Account } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllEnvs());

const plansOf = async (account: Account) => (await billing(account, "GET", "plans")).body;
const times = async (account: Account) =>
  (await plansOf(account)).plans.map(({ plan_id, is_current, begins_on, ends_on }: Record<string, unknown>) => [
    plan_id,
    is_current,
    begins_on,
    ends_on,
  ]);

test("names every plan with its minimum, the price of each unit and the quotas", async () => {
  expect(await plansOf(await newAccount())).toEqual({
    plans: [
      {
        plan_id: "per_mailbox",
        name: "Per mailbox",
        minimum: "5.00",
        prices: { mailbox_per_month: "3.00", dedicated_ip_per_month: "25.00", thousand_sent_mails: "0.00" },
        mailbox_quota: { default: 10 * 2 ** 30, largest: 50 * 2 ** 30 },
        needs_dedicated_ip: false,
        is_current: true,
        begins_on: null,
        ends_on: null,
        price_changes: [],
      },
      {
        plan_id: "per_dedicated_ip",
        name: "Per dedicated IP",
        minimum: "0.00",
        prices: { mailbox_per_month: "0.00", dedicated_ip_per_month: "99.00", thousand_sent_mails: "0.40" },
        mailbox_quota: { default: 10 * 2 ** 30, largest: 10 * 2 ** 30 },
        needs_dedicated_ip: true,
        is_current: false,
        begins_on: null,
        ends_on: null,
        price_changes: [],
      },
    ],
    dedicated_ip_first_days: { days: 30, price: "25.00" },
    currency: "USD",
  });
});

test("shows the first day of a future plan, and the last day of the present plan", async () => {
  const account = await newAccount();
  const day = plusDays(dayOf(new Date()), 10);
  await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip", effective_date: day });
  expect(await times(account)).toEqual([
    ["per_mailbox", true, null, plusDays(day, -1)],
    ["per_dedicated_ip", false, day, null],
  ]);
  expect((await plansOf(account)).dedicated_ip_first_days.price).toBe("99.00");
});

test("a plan whose cancellation was taken back has no end", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", {});
  const end = nextMonth(dayOf(new Date()));
  expect(await times(account)).toContainEqual(["per_mailbox", true, null, plusDays(end, -1)]);
  await billing(account, "POST", "change-plan", { plan_id: "per_mailbox", effective_date: end });
  expect(await times(account)).toContainEqual(["per_mailbox", true, null, null]);
});

test("no plan is current after an immediate cancellation", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", { cancel_immediately: true });
  expect((await times(account)).map(([, isCurrent]: unknown[]) => isCurrent)).toEqual([false, false]);
});

test("names the future price changes, the next change first, and no past changes", async () => {
  const month = nextMonth(dayOf(new Date()));
  const list = (from: string, mailbox: number) => ({
    from,
    plans: { per_mailbox: { minimum: 700, mailbox, dedicatedIp: 3_000, sentMails: 1 } },
  });
  const lists = [list("2020-01-01", 350), list(month, 400), list(nextMonth(month), 450)];
  vi.stubEnv("PLAN_PRICES", JSON.stringify(lists));
  const [plan, other] = (await plansOf(await newAccount())).plans;
  expect(plan.prices.mailbox_per_month).toBe("3.50");
  expect(plan.price_changes).toEqual([
    {
      from: month,
      minimum: "7.00",
      prices: { mailbox_per_month: "4.00", dedicated_ip_per_month: "30.00", thousand_sent_mails: "0.01" },
    },
    expect.objectContaining({ from: nextMonth(month) }),
  ]);
  expect(other.price_changes).toEqual([]);
});

test("needs billing.view", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const { body } = await billing(account, "GET", "plans", undefined, viewer);
  expect(body).toMatchObject({ status: 403, required_capability: "billing.view" });
});
