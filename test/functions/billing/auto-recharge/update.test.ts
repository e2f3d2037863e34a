import { expect, test } from "vitest";

import { handler as advanceRecharges } from "../../../../functions/workers/advance-recharges.ts";
import { handler as watchWallets } from "../../../../functions/workers/watch-wallets.ts";
import { billing, fund } from "../../../support/billing.ts";
import { write } from "../../../support/domain-work.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { chargeOf, saveTestCard, takePaymentBack, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount } from "../../../support/world.ts";

test("members that are left out stay as they are", async () => {
  const account = await newAccount();
  await billing(account, "PATCH", "auto-recharge", { threshold: "12.50", max_per_month: 2 });
  const { body } = await billing(account, "PATCH", "auto-recharge", { amount: 30 });
  expect(body).toMatchObject({ enabled: false, threshold: "12.50", amount: "30.00", max_per_month: 2 });
});

test("a stored amount below the minimum, from an earlier version, stays until it is changed", async () => {
  const account = await newAccount();
  await billing(account, "PATCH", "auto-recharge", { amount: "1.00" });
  await write({ update: { PK: `ACCOUNT#${account.id}`, SK: "AUTO_RECHARGE" }, set: { amount: 10 } });
  const { status, body } = await billing(account, "PATCH", "auto-recharge", { threshold: "12.50" });
  expect([status, body.threshold, body.amount]).toEqual([200, "12.50", "0.10"]);
});

test("without a saved card, switching on is refused with 409, and nothing changes", async () => {
  const account = await newAccount();
  const before = await storedOf(account);
  const { status, body } = await billing(account, "PATCH", "auto-recharge", { enabled: true });
  expect([status, body.code]).toEqual([409, "payment_method_required"]);
  expect(await storedOf(account)).toEqual(before);
});

test.each([
  [{ amount: "2000.01" }, "amount"],
  [{ amount: "0" }, "amount"],
  [{ amount: "0.99" }, "amount"],
  [{ amount: 0.5 }, "amount"],
  [{ amount: "100.01" }, "amount"],
  [{ monthly_cap: "5000.01" }, "monthly_cap"],
  [{ monthly_cap: "24.99" }, "monthly_cap"],
  [{ threshold: "2000.01" }, "threshold"],
  [{ threshold: "-1" }, "threshold"],
  [{ max_per_month: 21 }, "max_per_month"],
  [{ max_per_month: 0 }, "max_per_month"],
  [{ enabled: "yes" }, "enabled"],
])("the change %j is refused at its place, and changes nothing", async (change, member) => {
  const account = await newAccount();
  const before = await storedOf(account);
  const { status, body } = await billing(account, "PATCH", "auto-recharge", change);
  expect([status, body.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", member]]);
  expect(await storedOf(account)).toEqual(before);
});

test.each([
  [{ amount: "100.01" }, "The amount is above the monthly cap of 100.00. Write a smaller amount, or a monthly_cap too"],
  [{ monthly_cap: "24.99" }, "The monthly cap is below the amount of one recharge, 25.00"],
])("the refusal of %j names the other amount: %s", async (change, msg) => {
  const { body } = await billing(await newAccount(), "PATCH", "auto-recharge", change);
  expect(body.detail).toMatchObject([{ msg }]);
});

test("an automatic recharge adds to the wallet, and a refund takes the money out again, once", async () => {
  const account = await newAccount();
  await fund(account, 300);
  await saveTestCard(account);
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  await watchWallets({ detail: { account_id: account.id } });
  await advanceRecharges();
  const { body } = await billing(account, "GET", "auto-recharge");
  expect(body).toMatchObject({ state: "ready", last_recharge: { status: "succeeded", amount: "25.00" } });
  expect((await billing(account, "GET", "wallet-balance")).body.balance).toBe("28.00");
  const { id } = await chargeOf(body.last_recharge.id);
  const webhook = await takePaymentBack(id, "refund");
  for (let times = 0; times < 2; times++) expect((await tellProduct(webhook)).status).toBe(200);
  expect((await billing(account, "GET", "wallet-balance")).body.balance).toBe("3.00");
});

test("the money of a refund that fails at the bank is in the wallet again, once", async () => {
  const account = await newAccount();
  await saveTestCard(account);
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  await watchWallets({ detail: { account_id: account.id } });
  await advanceRecharges();
  const { body } = await billing(account, "GET", "auto-recharge");
  const { id } = await chargeOf(body.last_recharge.id);
  await billing(account, "PATCH", "auto-recharge", { enabled: false });
  const balance = async () => (await billing(account, "GET", "wallet-balance")).body.balance;
  // Each webhook has all refunds of the payment up to its time.
  const firstHalf = await takePaymentBack(id, "refund-half");
  const secondHalf = await takePaymentBack(id, "refund-half");
  await tellProduct(secondHalf);
  expect(await balance()).toBe("0.00");
  const failed = await takePaymentBack(id, "fail-refund");
  for (const webhook of [failed, firstHalf, failed, secondHalf]) expect((await tellProduct(webhook)).status).toBe(200);
  expect(await balance()).toBe("12.50");
  const { items } = (await billing(account, "GET", "transactions")).body;
  expect(items.map(({ type, amount }: { type: string; amount: string }) => [type, amount])).toEqual([
    ["adjustment", "12.50"],
    ["refund", "12.50"],
    ["refund", "12.50"],
    ["topup", "25.00"],
  ]);
});

test("a dispute takes the money out of the wallet, and a won dispute returns the money", async () => {
  const account = await newAccount();
  await saveTestCard(account, "disputes");
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  await watchWallets({ detail: { account_id: account.id } });
  await advanceRecharges();
  const { body } = await billing(account, "GET", "auto-recharge");
  const { id } = await chargeOf(body.last_recharge.id);
  const balance = async () => (await billing(account, "GET", "wallet-balance")).body.balance;
  expect(await balance()).toBe("25.00");
  await billing(account, "PATCH", "auto-recharge", { enabled: false });
  await tellProduct(await takePaymentBack(id, "dispute"));
  expect(await balance()).toBe("0.00");
  await tellProduct(await takePaymentBack(id, "win"));
  expect(await balance()).toBe("25.00");
});
