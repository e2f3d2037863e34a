import { expect, test } from "vitest";

import { dayOf, nextMonth } from "../../../../shared/billing/days.ts";
import { billing } from "../../../support/billing.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const cancel = (account: Account, body: object = {}) => billing(account, "POST", "cancel-plan", body);

test("ends with the month if nothing else is said", async () => {
  const { body } = await cancel(await newAccount());
  expect(body).toMatchObject({
    status: "scheduled",
    effective_at: `${nextMonth(dayOf(new Date()))}T00:00:00.000Z`,
    previous_plan_id: "per_mailbox",
    target_plan_id: null,
  });
});

test("ends at once when asked to, also when it was to end with the month", async () => {
  const account = await newAccount();
  await cancel(account);
  const { status, body } = await cancel(account, { cancel_immediately: true });
  expect([status, body.status]).toEqual([200, "cancelled"]);
});

test("what is cancelled cannot be cancelled again", async () => {
  const account = await newAccount();
  await cancel(account);
  expect((await cancel(account)).body).toMatchObject({ status: 409, code: "plan_cancelled" });
  await cancel(account, { cancel_immediately: true });
  expect((await cancel(account, { cancel_immediately: true })).body).toMatchObject({ code: "plan_cancelled" });
});

test("to cancel at no time is a 422", async () => {
  const { status, body } = await cancel(await newAccount(), { cancel_at_period_end: false });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "cancel_at_period_end"]]);
});
