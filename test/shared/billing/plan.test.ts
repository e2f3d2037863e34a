import { expect, test } from "vitest";

import { currentPlan } from "../../../shared/billing/current-plan.ts";
import { usageOf } from "../../../shared/billing/period.ts";
import { cancelPlan, changePlan } from "../../../shared/billing/plan.ts";
import { InvalidInput } from "../../../shared/core/errors.ts";
import { newScene, purchase } from "./scene.ts";

async function sceneOfMarch() {
  const scene = await newScene("2026-03-01");
  const { accountId, context } = scene;
  return {
    ...scene,
    change: (target: "per_mailbox" | "per_dedicated_ip", from?: string) => changePlan(accountId, target, from, context),
    cancel: (isImmediate: boolean) => cancelPlan(accountId, isImmediate, context),
    current: () => currentPlan(accountId, context),
    runOn: async (day: string, last: string) => {
      scene.on(day);
      await scene.run(last);
    },
  };
}

test("a change of the plan takes effect today, and each day is charged by the plan of this day", async () => {
  const { change, current, on, use, runOn, invoices } = await sceneOfMarch();
  await use({ mailboxes: 10, dedicated_ips: 1 });
  on("2026-03-11");
  expect(await change("per_dedicated_ip")).toMatchObject({
    status: "active",
    account_status: "active",
    effective_at: "2026-03-11T00:00:00.000Z",
    previous_plan_id: "per_mailbox",
    target_plan_id: "per_dedicated_ip",
  });
  expect(await current()).toMatchObject({ plan_id: "per_dedicated_ip", status: "active", can_change_plan: true });
  await runOn("2026-04-01", "2026-03-31");
  expect((await invoices())[0]?.lines.map(({ description, amount }) => [description, amount])).toEqual([
    ["Per mailbox: mailboxes", 968],
    ["Per mailbox: dedicated IPs", 806],
    ["Per dedicated IP: dedicated IPs", 6_706],
  ]);
});

test("a change for a later day is scheduled and can be replaced, and a change for a past day is refused", async () => {
  const { change, current, on, events } = await sceneOfMarch();
  on("2026-03-11");
  await expect(change("per_dedicated_ip", "2026-03-10")).rejects.toBeInstanceOf(InvalidInput);
  expect(await change("per_dedicated_ip", "2026-05-01")).toMatchObject({ status: "scheduled" });
  expect((await current()).plan_id).toBe("per_mailbox");
  await expect(change("per_dedicated_ip", "2026-06-01")).rejects.toMatchObject({ code: "plan_unchanged" });
  await change("per_dedicated_ip", "2026-04-01");
  on("2026-04-01");
  expect((await current()).plan_id).toBe("per_dedicated_ip");
  expect((await events()).filter((type) => type === "billing.plan.changed")).toHaveLength(2);
});

test("a change to the current plan is refused, unless another plan is scheduled", async () => {
  const { change, current, on } = await sceneOfMarch();
  await expect(change("per_mailbox")).rejects.toMatchObject({ code: "plan_unchanged", status: 409 });
  await change("per_dedicated_ip", "2026-04-01");
  await change("per_mailbox");
  on("2026-04-02");
  expect((await current()).plan_id).toBe("per_mailbox");
});

test("a plan that is cancelled for the end of the month is charged until then, and can be resumed before", async () => {
  const { change, cancel, current, on, runOn, accruals, invoices } = await sceneOfMarch();
  on("2026-03-10");
  expect(await cancel(false)).toMatchObject({
    status: "scheduled",
    effective_at: "2026-04-01T00:00:00.000Z",
    previous_plan_id: "per_mailbox",
    target_plan_id: null,
  });
  expect(await current()).toMatchObject({ status: "cancelling", can_cancel_plan: true });
  await expect(cancel(false)).rejects.toMatchObject({ code: "plan_cancelled", status: 409 });
  await change("per_mailbox");
  expect(await current()).toMatchObject({ status: "active", can_cancel_plan: true });
  await cancel(false);
  await runOn("2026-05-10", "2026-05-09");
  expect(await accruals()).toHaveLength(31);
  expect((await invoices()).map(({ total, period_end }) => [total, period_end])).toEqual([[500, "2026-03-31"]]);
  expect(await current()).toMatchObject({ plan_id: null, plan_name: null, price: null, status: "cancelled" });
});

test("an immediate cancellation invoices the usage at once, including today, and no day is charged again", async () => {
  const { cancel, on, topUp, use, invoices, wallet, runOn } = await sceneOfMarch();
  await use({ mailboxes: 31 });
  await topUp(100_000);
  on("2026-03-11");
  expect(await cancel(true)).toMatchObject({ status: "cancelled", effective_at: "2026-03-11T00:00:00.000Z" });
  await expect(cancel(true)).rejects.toMatchObject({ code: "plan_cancelled" });
  await expect(cancel(false)).rejects.toMatchObject({ code: "plan_cancelled" });
  const bills = async () => (await invoices()).map(({ total, status, period_end }) => [total, status, period_end]);
  expect(await bills()).toEqual([[3_300, "paid", "2026-03-11"]]);
  await runOn("2026-05-01", "2026-04-30");
  expect(await bills()).toEqual([[3_300, "paid", "2026-03-11"]]);
  expect((await wallet()).posted).toBe(96_700);
});

test("if the wallet cannot pay the final invoice, the account is past due, and cannot change its plan before it pays", async () => {
  const { cancel, change, on, topUp, current } = await sceneOfMarch();
  on("2026-03-11");
  expect(await cancel(true)).toMatchObject({ account_status: "past_due" });
  expect(await current()).toMatchObject({ can_change_plan: false });
  await expect(change("per_mailbox")).rejects.toMatchObject({ code: "payment_due", status: 409 });
  await topUp(1_000);
  expect(await change("per_mailbox")).toMatchObject({ status: "scheduled", account_status: "active" });
});

test("if a plan is cancelled at once and resumed in the same month, no day is charged twice", async () => {
  const { cancel, change, on, topUp, runOn, accruals, invoices } = await sceneOfMarch();
  await topUp(100_000);
  on("2026-03-11");
  await cancel(true);
  on("2026-03-21");
  await change("per_mailbox");
  await runOn("2026-04-01", "2026-03-31");
  expect(await accruals()).toHaveLength(11 + 11);
  expect((await invoices()).map(({ period_start, period_end, total }) => [period_start, period_end, total])).toEqual([
    ["2026-03-01", "2026-03-11", 177],
    ["2026-03-12", "2026-03-31", 177],
  ]);
});

test("a plan that is scheduled to begin again can be cancelled before it begins", async () => {
  const { cancel, change, current, on } = await sceneOfMarch();
  await cancel(false);
  await change("per_mailbox", "2026-05-01");
  expect(await current()).toMatchObject({ can_cancel_plan: true });
  await cancel(false);
  on("2026-05-02");
  expect((await current()).plan_id).toBeNull();
});

test("if a plan is cancelled at once while the daily run is months late, the run invoices every month", async () => {
  const { cancel, on, topUp, runOn, invoices, accruals } = await sceneOfMarch();
  await topUp(100_000);
  on("2026-06-11");
  expect(await cancel(true)).toMatchObject({ status: "cancelled" });
  await runOn("2026-07-01", "2026-06-30");
  expect((await accruals()).at(-1)?.day).toBe("2026-06-11");
  expect((await invoices()).map(({ total }) => total)).toEqual([500, 500, 500, 183]);
});

test("an immediate cancellation also invoices the month before, if this month has no invoice yet", async () => {
  const { cancel, on, topUp, runOn, invoices } = await sceneOfMarch();
  await topUp(100_000);
  await runOn("2026-03-31", "2026-03-30");
  on("2026-04-04");
  await cancel(true);
  expect((await invoices()).map(({ period_end, total }) => [period_end, total])).toEqual([
    ["2026-03-31", 500],
    ["2026-04-04", 67],
  ]);
});

test("the event of a plan's end has the first day without a plan", async () => {
  const { cancel, on, runOn, changes } = await sceneOfMarch();
  on("2026-03-27");
  await cancel(true);
  await runOn("2026-03-29", "2026-03-28");
  expect((await changes("billing.plan.ended")).map(({ after }) => after)).toEqual([
    { plan_id: null, from: "2026-03-28" },
  ]);
});

test("a purchase after an immediate cancellation, on the same day, is on an invoice for this day", async () => {
  const { accountId, context, cancel, change, on, topUp, post, runOn, invoices } = await sceneOfMarch();
  const bills = async () =>
    (await invoices()).map((one) => [one.period_start, one.period_end, one.total, one.prepaid]).slice(-2);
  await topUp(100_000);
  on("2026-03-20");
  await cancel(true);
  on("2026-03-20", "16:00");
  await post({ kind: "transfer", ...purchase("first", 1_400) });
  await change("per_mailbox");
  on("2026-03-21");
  await cancel(true);
  expect(await bills()).toEqual([
    ["2026-03-20", "2026-03-20", 1_400, 1_400],
    ["2026-03-21", "2026-03-21", 16, 0],
  ]);
  await change("per_mailbox");
  await runOn("2026-03-31", "2026-03-30");
  await cancel(true);
  on("2026-03-31", "16:00");
  await post({ kind: "transfer", ...purchase("second", 1_500) });
  await runOn("2026-03-31", "2026-03-30");
  await post({ kind: "transfer", ...purchase("third", 100) });
  await runOn("2026-04-01", "2026-03-31");
  const last = [
    ["2026-03-22", "2026-03-31", 161, 0],
    ["2026-03-31", "2026-03-31", 1_600, 1_600],
  ];
  expect(await bills()).toEqual(last);
  await runOn("2026-05-01", "2026-04-30");
  expect(await bills()).toEqual(last);
  expect(await usageOf(accountId, "2026-03", context)).toMatchObject({ total: "5.00", invoiced: "5.00" });
});
