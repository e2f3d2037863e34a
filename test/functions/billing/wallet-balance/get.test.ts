import { expect, test } from "vitest";

import { dayOf, monthOf, plusDays } from "../../../../shared/core/time.ts";
import { billing, closeDays, fund, use } from "../../../support/billing.ts";
import { newAccount, newMember } from "../../../support/world.ts";

const balanceOf = async (account: Parameters<typeof billing>[0]) =>
  (await billing(account, "GET", "wallet-balance")).body;

test("a new wallet is empty and owes nothing", async () => {
  expect(await balanceOf(await newAccount())).toEqual({
    balance: "0.00",
    held: "0.00",
    available: "0.00",
    accrued_charges: "0.00",
    net_balance: "0.00",
    currency: "USD",
  });
});

test("usage without an invoice is accrued, and subtracted from the net balance", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  await use(account, 100);
  const today = dayOf(new Date());
  await closeDays(account, today);
  const { balance, accrued_charges, net_balance } = await balanceOf(account);
  expect(balance).toBe("100.00");
  // One day of 100 mailboxes at 3.00 USD a month. If the month ends today, its usage is already on an invoice.
  const isSettled = monthOf(plusDays(today, 1)) !== monthOf(today);
  if (!isSettled) expect(Number(accrued_charges)).toBeGreaterThan(9);
  expect(Number(net_balance)).toBeCloseTo(Number(balance) - Number(accrued_charges), 5);
});

test("needs billing.view", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const { body } = await billing(account, "GET", "wallet-balance", undefined, viewer);
  expect(body).toMatchObject({ status: 403, required_capability: "billing.view" });
});
