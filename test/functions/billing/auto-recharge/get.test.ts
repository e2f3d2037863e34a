import { expect, test } from "vitest";

import { billing } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

test("shows the defaults, with the recharge switched off, before the first change", async () => {
  expect((await billing(await newAccount(), "GET", "auto-recharge")).body).toEqual({
    enabled: false,
    threshold: "10.00",
    amount: "25.00",
    monthly_cap: "100.00",
    max_per_month: 4,
    currency: "USD",
    state: "off",
    retry_at: null,
    month_amount: "0.00",
    month_count: 0,
    last_recharge: null,
  });
});
