import { expect, test } from "vitest";

import { billing } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

test("an account that chose nothing is on the default plan", async () => {
  expect((await billing(await newAccount(), "GET", "current-plan")).body).toEqual({
    plan_id: "per_mailbox",
    plan_name: "Per mailbox",
    status: "active",
    price: "5.00",
    currency: "USD",
    billing_period: "month",
    can_change_plan: true,
    can_cancel_plan: true,
  });
});

test("a plan that ends with the month is cancelling and cannot be cancelled again", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", {});
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    plan_id: "per_mailbox",
    status: "cancelling",
    can_cancel_plan: false,
    can_change_plan: true,
  });
});

test("without a plan there is none to show", async () => {
  const account = await newAccount();
  await billing(account, "POST", "cancel-plan", { cancel_immediately: true });
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    plan_id: null,
    plan_name: null,
    price: null,
    status: "cancelled",
    can_cancel_plan: false,
  });
});
