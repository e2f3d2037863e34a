import { expect, test } from "vitest";

import { accrualKey } from "../../../../shared/billing/charges.ts";
import { dayOf, daysInMonth, plusDays } from "../../../../shared/core/time.ts";
import { billing, fund } from "../../../support/billing.ts";
import { newAccount, testTable } from "../../../support/world.ts";

test("the default threshold is the cost of seven days, calculated from the recorded days", async () => {
  const account = await newAccount();
  await fund(account, 5_000);
  const before = (await billing(account, "GET", "alerts")).body;
  expect(before).toMatchObject({ low_balance_threshold: null, left: "50.00", is_low: false, currency: "USD" });
  // Before a day is recorded, the minimum of the default plan counts: 5.00 USD a month.
  const minimum = Math.ceil((500 * 7) / daysInMonth(dayOf(new Date())));
  expect(before.effective_low_balance_threshold).toBe((minimum / 100).toFixed(2));
  const yesterday = plusDays(dayOf(new Date()), -1);
  const accrual = { day: yesterday, plan_id: "per_mailbox", mailboxes: 200, dedicated_ips: 0, sent_mails: 0 };
  await testTable().attempt({ put: { ...accrualKey(account.id, yesterday), ...accrual } });
  // 200 mailboxes cost 600.00 USD a month.
  const after = Number((await billing(account, "GET", "alerts")).body.effective_low_balance_threshold);
  expect(after).toBeGreaterThan((600 * 7) / 31 - 0.1);
  expect(after).toBeLessThan((600 * 7) / 28 + 0.1);
});
