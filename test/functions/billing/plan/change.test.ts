import { afterEach, expect, test } from "vitest";

import { newSeries } from "../../../../shared/billing/invoices/invoice.ts";
import { dayMs, dayOf, nextMonth, plusDays, setClockAhead } from "../../../../shared/core/time.ts";
import { billing, closeDays, use } from "../../../support/billing.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { addUsage } from "../../../support/usage.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

afterEach(() => setClockAhead(0));

const change = (account: Account, body: object) => billing(account, "POST", "change-plan", body);
const today = (): string => dayOf(new Date());

test("changes the plan from today on, and returns the previous and the new plan", async () => {
  const account = await newAccount();
  expect(await change(account, { plan_id: "per_dedicated_ip" })).toMatchObject({
    status: 200,
    body: {
      status: "active",
      account_status: "active",
      effective_at: `${today()}T00:00:00.000Z`,
      eligible: true,
      previous_plan_id: "per_mailbox",
      target_plan_id: "per_dedicated_ip",
    },
  });
  expect((await billing(account, "GET", "current-plan")).body.plan_id).toBe("per_dedicated_ip");
});

test("a change on a later day takes effect on that day, and can be replaced before that day", async () => {
  const account = await newAccount();
  const effective_date = plusDays(today(), 10);
  expect((await change(account, { plan_id: "per_dedicated_ip", effective_date })).body.status).toBe("scheduled");
  for (const [days, plan_id] of [
    [0, "per_mailbox"],
    [9, "per_mailbox"],
    [10, "per_dedicated_ip"],
  ] as const) {
    setClockAhead(days * dayMs);
    expect((await billing(account, "GET", "current-plan")).body.plan_id, `after ${days} days`).toBe(plan_id);
  }
  setClockAhead(0);
  expect((await change(account, { plan_id: "per_mailbox" })).status).toBe(200);
  expect((await change(account, { plan_id: "per_mailbox" })).body).toMatchObject({ code: "plan_unchanged" });
});

test("a change to the present plan gets 409", async () => {
  const account = await newAccount();
  expect((await change(account, { plan_id: "per_mailbox" })).body).toMatchObject({
    status: 409,
    code: "plan_unchanged",
  });
});

test("a change to the cancelled plan resumes the plan", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", {});
  expect((await change(account, { plan_id: "per_mailbox" })).body).toMatchObject({ status: "active" });
  expect((await billing(account, "GET", "current-plan")).body.status).toBe("active");
});

test("while an invoice is open, a change gets a 409 that names the invoice", async () => {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, plusDays(nextMonth(today()), -1));
  const { body } = await change(account, { plan_id: "per_dedicated_ip" });
  expect(body).toMatchObject({ status: 409, code: "payment_due" });
  expect(body.open_invoices).toEqual([`${newSeries(account.id)}-000001`]);
});

test.each([
  [{ plan_id: "free" }, "plan_id"],
  [{}, "plan_id"],
  [{ plan_id: "per_dedicated_ip", effective_date: "2020-01-01" }, "effective_date"],
  [{ plan_id: "per_dedicated_ip", effective_date: "tomorrow" }, "effective_date"],
  [{ plan_id: "per_dedicated_ip", effective_date: "2027-02-30" }, "effective_date"],
])("refuses %j at its place", async (body, place) => {
  const answer = await change(await newAccount(), body);
  expect([answer.status, answer.body.detail?.[0].loc]).toEqual([422, ["body", place]]);
});

test("a plan that is left out is refused as missing", async () => {
  const { body } = await change(await newAccount(), {});
  expect(body.detail).toEqual([{ loc: ["body", "plan_id"], msg: "This is required", type: "missing" }]);
});

test("a dry run shows the costs of this month and of the next one on the plan, and changes nothing", async () => {
  const account = await newAccount();
  await use(account, 10);
  const without = (await change(account, { plan_id: "per_dedicated_ip", dry_run: true })).body.preview;
  expect(without.next_period.total).toBe("30.00");
  const paid_until = new Date(Date.now() - 86_400_000).toISOString();
  await addUsage(testTable(), account.id, { dedicated_ips: 1, paid_until });
  const before = await storedOf(account);
  const { body } = await change(account, { plan_id: "per_dedicated_ip", dry_run: true });
  expect(body).toMatchObject({
    status: "active",
    previous_plan_id: "per_mailbox",
    target_plan_id: "per_dedicated_ip",
    preview: {
      charged_now: "0.00",
      held_now: "0.00",
      available: "0.00",
      missing: "0.00",
      this_period: { period_start: today() },
    },
  });
  const { this_period, next_period } = body.preview;
  const lines: { description: string }[] = [...this_period.lines, ...next_period.lines];
  // With a dedicated IP, a mailbox costs nothing on this plan, and there is no minimum. The IP is paid for 30 days.
  expect(new Set(lines.map(({ description }) => description))).toEqual(new Set(["Per dedicated IP: dedicated IPs"]));
  expect(await storedOf(account)).toEqual(before);
  expect((await change(account, { plan_id: "per_dedicated_ip" })).body).not.toHaveProperty("preview");
  const back = (await change(account, { plan_id: "per_mailbox", dry_run: true })).body;
  expect(back.preview.next_period.lines[0]).toMatchObject({ description: "Per mailbox: mailboxes", amount: "30.00" });
});

test("a dry run is refused like the real call", async () => {
  const account = await newAccount();
  const yesterday = plusDays(today(), -1);
  for (const body of [{ plan_id: "per_mailbox" }, { plan_id: "per_dedicated_ip", effective_date: yesterday }]) {
    const [told, real] = [await change(account, { ...body, dry_run: true }), await change(account, body)];
    expect([told.status, told.body.code, told.body.detail]).toEqual([real.status, real.body.code, real.body.detail]);
  }
});
