import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { closeAccount } from "../../../shared/billing/close.ts";
import { billingQueue, closableAt } from "../../../shared/billing/due.ts";
import { handlePayment } from "../../../shared/billing/payments.ts";
import { usageOf } from "../../../shared/billing/period.ts";
import { cancelPlan } from "../../../shared/billing/plan.ts";
import { handleRefund } from "../../../shared/billing/recharges/returns.ts";
import { balanceKey } from "../../../shared/ledger/ledger.ts";
import { dueKey } from "../../../shared/table/due.ts";
import { walletOf } from "../../../shared/wallet/wallet.ts";
import { afterReading } from "../../support/between.ts";
import { testTable } from "../../support/world.ts";
import { log as silent, newScene, purchase } from "./scene.ts";

const table = testTable();

/** An account that was created on 15 January, with three mailboxes and `money` minor units in its wallet. */
async function sceneOfJanuary(money: number) {
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  if (money > 0) await scene.topUp(money);
  return scene;
}

const noonOf = (day: string): Date => new Date(`${day}T12:00:00Z`);

test("a closing invoices the usage up to its day, pays the invoices from the wallet, and returns the rest", async () => {
  const { accountId, invoices, account, wallet } = await sceneOfJanuary(10_000);
  const told = await closeAccount(table, accountId, noonOf("2026-02-10"));
  const bills = await invoices();
  expect(bills.map(({ period_start, period_end, total, status }) => [period_start, period_end, total, status])).toEqual(
    [
      ["2026-01-15", "2026-01-31", 494, "paid"],
      ["2026-02-01", "2026-02-10", 321, "paid"],
    ],
  );
  expect((await account()).status).toBe("closed");
  expect((await wallet()).posted).toBe(10_000 - 494 - 321);
  expect(told).toEqual({ open_invoices: [], owed: "0.00", wallet_balance: "91.85", held: "0.00" });
});

test("a final invoice that the wallet cannot pay stays open, and a payment pays it later", async () => {
  const { accountId, invoices, account, topUp, on } = await sceneOfJanuary(0);
  const told = await closeAccount(table, accountId, noonOf("2026-01-20"));
  expect(told).toMatchObject({
    open_invoices: [expect.stringMatching(/000001$/)],
    owed: "1.74",
    wallet_balance: "0.00",
  });
  expect((await account()).status).toBe("closed");
  on("2026-01-22");
  await topUp(1_000);
  expect((await invoices()).map(({ status }) => status)).toEqual(["paid"]);
  expect((await account()).status).toBe("closed");
});

test("if a closed account is closed again, its open invoice is paid with money that is not held any more", async () => {
  const { accountId, invoices, post } = await sceneOfJanuary(1_000);
  const { id, ...bought } = purchase("name", 900);
  await post({ kind: "hold", id, ...bought });
  const told = await closeAccount(table, accountId, noonOf("2026-01-20"));
  expect(told).toMatchObject({ owed: "1.74", held: "9.00" });
  await post({ kind: "void", id });
  expect(await closeAccount(table, accountId, noonOf("2026-01-21"))).toMatchObject({ open_invoices: [], owed: "0.00" });
  expect((await invoices()).map(({ status }) => status)).toEqual(["paid"]);
});

test("the amount owed includes money that the payment provider refunded", async () => {
  const { accountId, on } = await sceneOfJanuary(0);
  on("2026-01-20");
  const refund = { id: "re_1", amount: 500, isFailed: false };
  const event = {
    id: "evt_1",
    type: "refund" as const,
    paymentId: "pi_1",
    accountId,
    refunds: [refund],
    currency: "USD",
  };
  await handleRefund(event, { table, now: () => noonOf("2026-01-20"), log: silent });
  const told = await closeAccount(table, accountId, noonOf("2026-01-20"));
  expect(told).toMatchObject({ owed: "6.74", wallet_balance: "0.00" });
});

test("closing twice, or eight times at once, makes one set of invoices", async () => {
  const { accountId, invoices, wallet, events } = await sceneOfJanuary(10_000);
  const close = () => closeAccount(table, accountId, noonOf("2026-02-10"));
  const told = await Promise.all(Array.from({ length: 8 }, close));
  expect(told).toEqual(told.map(() => told[0]));
  await setAccountStatus(table, accountId, "closed", noonOf("2026-03-10"));
  expect(await invoices()).toHaveLength(2);
  expect((await wallet()).posted).toBe(10_000 - 494 - 321);
  expect((await events()).filter((type) => type === "account.updated")).toHaveLength(1);
});

test("the closing of an account makes an invoice for each month that has none", async () => {
  const { accountId, invoices } = await sceneOfJanuary(100_000);
  await closeAccount(table, accountId, noonOf("2026-06-10"));
  expect((await invoices()).map(({ period_end }) => period_end)).toEqual([
    "2026-01-31",
    "2026-02-28",
    "2026-03-31",
    "2026-04-30",
    "2026-05-31",
    "2026-06-10",
  ]);
});

test("an account that the operator suspended is charged no mailbox when it is closed", async () => {
  const { accountId, invoices } = await sceneOfJanuary(10_000);
  await setAccountStatus(table, accountId, "suspended", noonOf("2026-01-15"));
  await closeAccount(table, accountId, noonOf("2026-01-20"));
  expect(await invoices()).toEqual([]);
});

test("a payment for a closed account is reported to the operator once", async () => {
  const { accountId, context, on } = await sceneOfJanuary(0);
  await closeAccount(table, accountId, noonOf("2026-01-20"));
  on("2026-01-22");
  const errors: unknown[] = [];
  const log = { ...silent, error: (message: string, fields: object = {}) => void errors.push([message, fields]) };
  const ids = { checkoutId: "cs_late", reference: "unknown", accountId };
  const payment = { ...ids, id: "evt_1", type: "paid" as const, amount: 500, currency: "USD", at: context.now() };
  for (let times = 0; times < 2; times++) await handlePayment(payment, { table, now: context.now, log });
  expect(errors).toEqual([["a closed account was paid", { account_id: accountId, amount: "5.00" }]]);
});

test("a purchase on the day of the closing is on an invoice, even if the plan was cancelled earlier that day", async () => {
  const { accountId, context, invoices, on, post } = await sceneOfJanuary(10_000);
  on("2026-01-20", "10:00");
  await cancelPlan(accountId, true, context);
  on("2026-01-20", "11:00");
  await post({ kind: "transfer", ...purchase("name", 1_400) });
  await closeAccount(table, accountId, noonOf("2026-01-20"));
  await closeAccount(table, accountId, noonOf("2026-01-20"));
  const bills = await invoices();
  expect(
    bills.map(({ period_start, period_end, total, prepaid, status }) => [
      period_start,
      period_end,
      total,
      prepaid,
      status,
    ]),
  ).toEqual([
    ["2026-01-15", "2026-01-20", 174, 0, "paid"],
    ["2026-01-20", "2026-01-20", 1_400, 1_400, "paid"],
  ]);
  // The usage of 20 January is only on the first invoice.
  expect(await usageOf(accountId, "2026-01", context)).toMatchObject({ total: "1.74", invoiced: "1.74" });
});

test("if a purchase is paid after the closing, a second closing puts it on an invoice", async () => {
  const { accountId, invoices, on, post, state } = await sceneOfJanuary(10_000);
  const { id, ...bought } = purchase("name", 1_400);
  await post({ kind: "hold", id, ...bought });
  await closeAccount(table, accountId, noonOf("2026-01-20"));
  on("2026-02-03");
  await post({ kind: "capture", id });
  for (let times = 0; times < 2; times++) await closeAccount(table, accountId, noonOf("2026-02-04"));
  const bills = await invoices();
  expect(bills.map(({ period_start, period_end, total }) => [period_start, period_end, total])).toEqual([
    ["2026-01-15", "2026-01-20", 174],
    ["2026-02-03", "2026-02-03", 1_400],
  ]);
  expect(await state()).toMatchObject({ settle_from: "2026-01-21", accrue_from: "2026-01-21" });
});

test("a closed account stays in the queue if an amount is held while the account is being closed", async () => {
  const { accountId, invoices, on, post, run } = await sceneOfJanuary(10_000);
  await setAccountStatus(table, accountId, "suspended", noonOf("2026-01-15"));
  const { id, ...bought } = purchase("name", 1_400);
  const { PK, SK } = balanceKey(walletOf(accountId), "wallet");
  // The closing reads the wallet for the second time when it plans its last transaction.
  const told = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    () => post({ kind: "hold", id, ...bought }),
    () => closeAccount(table, accountId, noonOf("2026-01-15")),
    2,
  );
  expect(told).toMatchObject({ wallet_balance: "100.00", held: "14.00" });
  expect(await table.getMany([dueKey(billingQueue, [accountId], closableAt("2026-01-15"))])).toEqual([
    expect.anything(),
  ]);
  on("2026-01-16");
  await post({ kind: "capture", id });
  await run("2026-01-15");
  expect((await invoices()).map(({ total, status }) => [total, status])).toEqual([[1_400, "paid"]]);
});
