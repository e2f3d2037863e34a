import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { accountKey } from "../../../shared/accounts/account.ts";
import { usageOf } from "../../../shared/billing/period.ts";
import { handleRefund } from "../../../shared/billing/recharges/returns.ts";
import { daysBetween, plusDays } from "../../../shared/core/time.ts";
import { stateKey } from "../../../shared/wallet/state.ts";
import { write } from "../../support/domain-work.ts";
import { testTable } from "../../support/world.ts";
import { log, newScene, purchase } from "./scene.ts";

const table = testTable();

/** An account that owes 5.00 for February, since 1 March. */
async function sceneOwing() {
  const scene = await newScene("2026-02-01");
  scene.on("2026-03-01");
  await scene.run("2026-02-28");
  const status = async () => (await scene.account()).status;
  const operate = (to: "active" | "suspended" | "closed", day: string) =>
    setAccountStatus(table, scene.accountId, to, new Date(`${day}T13:00:00Z`));
  const runOn = async (day: string, last: string) => {
    scene.on(day);
    await scene.run(last);
  };
  return { ...scene, status, operate, runOn };
}

test("an account is past due if its wallet cannot pay an invoice, and active again once a top-up has paid the invoice", async () => {
  const { status, topUp, wallet, invoices, state, transactions } = await sceneOwing();
  expect(await status()).toBe("past_due");
  expect(await state()).toMatchObject({ open: [0], due_since: "2026-03-01" });
  await topUp(499);
  expect([await status(), (await invoices())[0]?.status]).toEqual(["past_due", "open"]);
  await topUp(2);
  expect([await status(), (await invoices())[0]?.status]).toEqual(["active", "paid"]);
  expect((await wallet()).posted).toBe(1);
  expect(await state()).toMatchObject({ open: [] });
  expect((await state())?.due_since).toBeUndefined();
  expect((await transactions()).at(-1)).toMatchObject({ type: "charge", amount: "5.00", balance_after: "0.01" });
});

test("a debt has the missing amount, and the day of the suspension until that day; a payment or the operator's suspension ends the debt", async () => {
  const { account, runOn, operate } = await sceneOwing();
  expect((await account()).debt).toEqual({ missing: 500, currency: "USD", suspends_on: "2026-03-15" });
  await runOn("2026-03-15", "2026-03-14");
  expect((await account()).debt).toEqual({ missing: 500, currency: "USD" });
  await operate("suspended", "2026-03-16");
  expect((await account()).debt).toBeUndefined();
  const other = await sceneOwing();
  await other.topUp(100);
  await other.runOn("2026-03-15", "2026-03-14");
  expect((await other.account()).debt).toEqual({ missing: 400, currency: "USD" });
  await other.topUp(10_000);
  expect(await other.account()).toMatchObject({ status: "active" });
  expect((await other.account()).debt).toBeUndefined();
});

test("held money pays no invoice", async () => {
  const { status, topUp, post } = await sceneOwing();
  await topUp(300);
  await post({ kind: "hold", ...purchase("h", 300) });
  await topUp(499);
  expect(await status()).toBe("past_due");
  await topUp(1);
  expect(await status()).toBe("active");
});

test("an account with a debt is suspended after 14 days, and is neither charged nor active again until it has paid", async () => {
  const { status, runOn, topUp, accruals, invoices } = await sceneOwing();
  await runOn("2026-03-14", "2026-03-13");
  expect(await status()).toBe("past_due");
  await runOn("2026-03-15", "2026-03-14");
  expect(await status()).toBe("suspended");
  await runOn("2026-04-03", "2026-04-02");
  expect((await accruals()).at(-1)?.day).toBe("2026-03-14");
  expect((await invoices()).map(({ total, status: is }) => [total, is])).toEqual([
    [500, "open"],
    // 14 of 31 days
    [226, "open"],
  ]);
  await topUp(500);
  expect(await status()).toBe("suspended");
  await topUp(226);
  expect(await status()).toBe("active");
  await runOn("2026-04-05", "2026-04-04");
  expect((await accruals()).at(-1)?.day).toBe("2026-04-04");
});

test("a day at whose end the account was suspended is free, also if a top-up comes before the day is recorded", async () => {
  const { accountId, context, on, use, status, runOn, topUp, accruals } = await sceneOwing();
  await use({ mailboxes: 1 });
  await runOn("2026-03-15", "2026-03-14");
  await runOn("2026-03-16", "2026-03-15");
  // The worker is down until the 20th.
  on("2026-03-20", "00:05");
  await topUp(10_000);
  expect(await status()).toBe("active");
  const { forecast } = await usageOf(accountId, undefined, context);
  await runOn("2026-03-20", "2026-03-19");
  expect((await accruals()).at(-1)?.day).toBe("2026-03-14");
  expect(await usageOf(accountId, undefined, context)).toMatchObject({ forecast });
  await runOn("2026-04-01", "2026-03-31");
  expect((await accruals()).slice(-13).map(({ day }) => day)).toEqual([
    "2026-03-14",
    ...daysBetween("2026-03-20", "2026-03-31"),
  ]);
});

test("a day at whose end the account was active is charged, also if the account is suspended before the day is recorded", async () => {
  const { on, use, topUp, operate, run, accruals } = await sceneOwing();
  await topUp(10_000);
  await use({ mailboxes: 7 });
  on("2026-03-03");
  await operate("suspended", "2026-03-02");
  await operate("active", "2026-03-02");
  await operate("suspended", "2026-03-03");
  await operate("active", "2026-03-03");
  await operate("suspended", "2026-03-03");
  await run("2026-03-02");
  expect((await accruals()).slice(-2)).toMatchObject([
    { day: "2026-03-01", mailboxes: 7 },
    { day: "2026-03-02", mailboxes: 7 },
  ]);
  on("2026-03-05");
  await run("2026-03-04");
  expect((await accruals()).at(-1)).toMatchObject({ day: "2026-03-02" });
});

test("the stored former statuses of an account decide which past days are charged; without them, its present status decides", async () => {
  const { accountId, on, use, operate, run, topUp, accruals } = await sceneOwing();
  await topUp(10_000);
  await use({ mailboxes: 7 });
  const former_statuses = [
    { status: "active", until: "2026-03-02" },
    { status: "suspended", until: "2026-03-04" },
  ];
  await table.attempt({ update: accountKey(accountId), set: { former_statuses } });
  on("2026-03-06");
  await run("2026-03-05");
  expect((await accruals()).map(({ day }) => day).filter((day) => day > "2026-02-28")).toEqual([
    "2026-03-01",
    "2026-03-02",
    "2026-03-05",
  ]);
  await operate("suspended", "2026-03-08");
  await table.attempt({ update: accountKey(accountId), remove: ["former_statuses"] });
  on("2026-03-09");
  await run("2026-03-08");
  expect((await accruals()).at(-1)?.day).toBe("2026-03-05");
});

test("the 14 days begin with the oldest debt that is still unpaid", async () => {
  const { accountId, context, on, use, run, topUp, account, state } = await newScene("2026-03-15");
  await use({ mailboxes: 3 });
  const refunds = [{ id: "re_1", amount: 3_000, isFailed: false }];
  const ids = { id: "evt_1", paymentId: "pi_1" };
  on("2026-03-20");
  await handleRefund({ ...ids, type: "refund", accountId, refunds, currency: "USD" }, { table, now: context.now, log });
  on("2026-04-01");
  await run("2026-03-31");
  expect(await state()).toMatchObject({ owed: 3_000, open: [0], due_since: "2026-03-20" });
  on("2026-04-02");
  await topUp(3_000);
  expect(await state()).toMatchObject({ owed: 0, open: [0], due_since: "2026-04-01" });
  for (const [day, status] of [
    ["2026-04-04", "past_due"],
    ["2026-04-14", "past_due"],
    ["2026-04-15", "suspended"],
  ] as const) {
    on(day);
    await run(plusDays(day, -1));
    expect((await account()).status, day).toBe(status);
  }
});

/**
 * An account whose payments were taken back: 50.00 on 20 January, and 30.00 on 30 January. `between` runs after the
 * first one was taken back.
 */
async function sceneTakenBack(between?: (accountId: string) => Promise<void>) {
  const scene = await newScene("2026-01-15");
  const { accountId, context, on } = scene;
  for (const [day, amount] of [
    ["2026-01-20", 5_000],
    ["2026-01-30", 3_000],
  ] as const) {
    on(day);
    const refunds = [{ id: "re_1", amount, isFailed: false }];
    const event = { id: day, type: "refund" as const, paymentId: day, accountId, refunds, currency: "USD" };
    await handleRefund(event, { table, now: context.now, log });
    if (day === "2026-01-20") await between?.(accountId);
  }
  on("2026-01-31");
  return scene;
}

test("a top-up first pays the oldest payment that was taken back, and the 14 days then begin with the next payment", async () => {
  const { topUp, state, on, run, account } = await sceneTakenBack();
  await topUp(4_000);
  expect(await state()).toMatchObject({ owed: 4_000, due_since: "2026-01-20" });
  await topUp(1_000);
  expect(await state()).toMatchObject({ owed: 3_000, due_since: "2026-01-30" });
  for (const [day, status] of [
    ["2026-02-03", "past_due"],
    ["2026-02-12", "past_due"],
    ["2026-02-13", "suspended"],
  ] as const) {
    on(day);
    await run(plusDays(day, -1));
    expect((await account()).status, day).toBe(status);
  }
  await topUp(10_000);
  expect(await state()).toMatchObject({ owed: 0, open: [], owed_parts: [] });
});

test("a debt that an earlier version stored without parts counts as one part, and later parts are stored beside it", async () => {
  const { topUp, state, accountId } = await sceneTakenBack((id) =>
    write({ update: stateKey(id), remove: ["owed_parts"] }),
  );
  const owed_parts = [
    { since: "2026-01-20", amount: 5_000 },
    { since: "2026-01-30", amount: 3_000 },
  ];
  expect(await state()).toMatchObject({ owed: 8_000, due_since: "2026-01-20", owed_parts });
  await topUp(5_000);
  expect(await state()).toMatchObject({ owed: 3_000, due_since: "2026-01-30" });
  await write({ update: stateKey(accountId), remove: ["owed_parts"] });
  await topUp(1_000);
  expect(await state()).toMatchObject({ owed: 2_000, due_since: "2026-01-30" });
});

test("invoices are paid oldest first, even if the money would be enough for a smaller, newer invoice", async () => {
  const { runOn, topUp, invoices } = await sceneOwing();
  await runOn("2026-04-03", "2026-04-02");
  await topUp(499);
  expect((await invoices()).map(({ status }) => status)).toEqual(["open", "open"]);
  await topUp(1);
  expect((await invoices()).map(({ status }) => status)).toEqual(["paid", "open"]);
});

test("a top-up does not end a suspension by the operator, even if the account also had a debt", async () => {
  const owing = await sceneOwing();
  await owing.operate("suspended", "2026-03-02");
  await owing.topUp(10_000);
  expect([await owing.status(), (await owing.invoices())[0]?.status]).toEqual(["suspended", "paid"]);
  const suspended = await sceneOwing();
  await suspended.runOn("2026-03-20", "2026-03-19");
  await suspended.operate("active", "2026-03-20");
  await suspended.operate("suspended", "2026-03-20");
  await suspended.topUp(10_000);
  expect(await suspended.status()).toBe("suspended");
  const twice = await sceneOwing();
  await twice.runOn("2026-03-20", "2026-03-19");
  await twice.operate("suspended", "2026-03-20");
  await twice.topUp(10_000);
  expect(await twice.status()).toBe("suspended");
  // An earlier version of the product suspended accounts without a `debt`.
  const earlier = await sceneOwing();
  await earlier.runOn("2026-03-20", "2026-03-19");
  await write({ update: accountKey(earlier.accountId), remove: ["debt"] });
  await earlier.operate("suspended", "2026-03-20");
  await earlier.topUp(10_000);
  expect(await earlier.status()).toBe("suspended");
});

test("an account that is past due without a debt is active after the next run", async () => {
  const { status, topUp, runOn, accountId } = await sceneOwing();
  await topUp(10_000);
  await setAccountStatus(table, accountId, "past_due", new Date("2026-03-02T00:00:00Z"));
  await runOn("2026-03-03", "2026-03-02");
  expect(await status()).toBe("active");
});

test("a closed account is not billed any more, and its debt can still be paid", async () => {
  const { status, operate, runOn, topUp, invoices, accruals } = await sceneOwing();
  await operate("closed", "2026-03-02");
  await runOn("2026-05-02", "2026-05-01");
  expect(await accruals()).toHaveLength(28 + 2);
  await topUp(10_000);
  expect([await status(), (await invoices()).map(({ status: is }) => is)]).toEqual(["closed", ["paid", "paid"]]);
});

test("two years of invoices are made and paid, even though they are too many for one transaction", async () => {
  const { on, run, topUp, invoices, account, wallet } = await newScene("2026-02-01");
  on("2028-03-01");
  await run("2028-02-29");
  expect((await invoices()).filter(({ status: is }) => is === "open")).toHaveLength(25);
  await topUp(25 * 500 + 1);
  expect((await invoices()).filter(({ status: is }) => is === "open")).toHaveLength(0);
  expect([(await account()).status, (await wallet()).posted]).toEqual(["active", 1]);
});
