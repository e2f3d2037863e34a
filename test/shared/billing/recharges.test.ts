import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { closeAccount } from "../../../shared/billing/close.ts";
import { deletePaymentMethod, readSettings } from "../../../shared/billing/recharges/auto-recharge.ts";
import { readMethod, rechargeQueue } from "../../../shared/billing/recharges/payment-method.ts";
import { settleRecharge } from "../../../shared/billing/recharges/recharge.ts";
import type { ChargeState } from "../../../shared/providers/payments/payments.ts";
import { tasksOf } from "../../../shared/table/due.ts";
import { rechargeRetryDays } from "../../../shared/wallet/catalogue.ts";
import { afterReading } from "../../support/between.ts";
import { testTable } from "../../support/world.ts";
import { newRechargeScene } from "./recharge-scene.ts";
import { purchase } from "./scene.ts";

const spend = (amount: number) => ({ kind: "transfer" as const, ...purchase(randomUUID(), amount) });
type Scene = Awaited<ReturnType<typeof newRechargeScene>>;

/** Spends `amount` minor units from the wallet, and then runs the watch and the worker. */
async function runLow(scene: Scene, amount = 1_500): Promise<void> {
  await scene.post(spend(amount));
  await scene.watch();
  await scene.sweep();
}

const rechargesOf = async (scene: Scene) =>
  (await scene.changes("billing.recharge.")).map(({ type, after }) => [type.split(".").at(-1), after["amount"]]);

/** When the provider is next called about each running recharge. */
const dueTimes = async ({ accountId }: Scene): Promise<string[]> =>
  (await tasksOf(testTable(), rechargeQueue, accountId)).flatMap(({ at, subject: [, task = ""] }) =>
    task.startsWith("recharge/") ? [at] : [],
  );

/** Makes the bank process each charge until its `status` is changed. Counts the charges and the questions. */
function slowBank({ work }: Scene) {
  const bank = { status: "processing" as ChargeState["status"], charged: 0, asked: 0 };
  let charge: Omit<ChargeState, "status"> | undefined;
  work.payments.charge = async ({ reference, accountId, amount, currency }) => {
    bank.charged += 1;
    charge = { id: "ch_slow", reference, accountId, amount, currency };
    return { ...charge, status: bank.status };
  };
  work.payments.getCharge = async () => {
    if (!charge) throw new Error("nothing was charged");
    bank.asked += 1;
    return { ...charge, status: bank.status };
  };
  return bank;
}

/** Notes the errors that are logged for the operator. */
function watchErrors({ work }: Scene): [message: string, data: unknown][] {
  const errors: [string, unknown][] = [];
  work.log = { ...work.log, error: (message, data) => void errors.push([message, data]) };
  return errors;
}

/** Notes the cards that are removed at the provider. */
function watchRemovals({ work: { payments } }: Scene): string[] {
  const removed: string[] = [];
  const { removeCard } = payments;
  payments.removeCard = async (id) => {
    removed.push(id);
    await removeCard(id);
  };
  return removed;
}

test("a wallet is recharged once if it is below the threshold, and not recharged if it is above", async () => {
  const scene = await newRechargeScene();
  await scene.watch();
  await scene.sweep();
  expect(await scene.balance()).toBe("30.00");
  await runLow(scene);
  await Promise.all([scene.watch(), scene.watch(), scene.sweep(), scene.sweep()]);
  expect(await scene.balance()).toBe("40.00");
  expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
  expect(await scene.settings()).toMatchObject({
    state: "ready",
    month_amount: "25.00",
    month_count: 1,
    last_recharge: { status: "succeeded", amount: "25.00" },
  });
});

test.each(["before", "after"] as const)(
  "if the request of a charge fails %s the charge is made, the charge is still made only once",
  async (fault) => {
    const scene = await newRechargeScene();
    scene.faults.push(fault);
    await runLow(scene);
    expect(await scene.balance()).toBe("15.00");
    expect(await scene.settings()).toMatchObject({ state: "running" });
    scene.on("2026-03-03");
    await scene.sweep();
    expect(await scene.balance()).toBe("40.00");
    expect(new Set(scene.charges.map(({ id }) => id)).size).toBe(1);
  },
);

test("a charge is credited once, even if several webhooks and the worker report it", async () => {
  const scene = await newRechargeScene();
  scene.faults.push("after");
  await runLow(scene);
  const [charge] = scene.charges;
  if (!charge) throw new Error("nothing was charged");
  const event = { ...charge, id: "evt_1", type: "charge" as const, chargeId: charge.id ?? "", isSucceeded: true };
  await Promise.all([scene.tell(event), scene.tell({ ...event, id: "evt_2" })]);
  scene.on("2026-03-03");
  await scene.sweep();
  await scene.tell(event);
  expect(await scene.balance()).toBe("40.00");
  expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
});

test("the provider is asked about a running charge after half of its age, but after 2 minutes at least and 12 hours at most", async () => {
  const scene = await newRechargeScene();
  const bank = slowBank(scene);
  await runLow(scene);
  expect(await dueTimes(scene)).toEqual(["2026-03-02T12:02:00.000Z"]);
  await scene.sweep();
  expect(bank.asked).toBe(0);
  scene.on("2026-03-02", "12:12");
  await scene.sweep();
  expect(await dueTimes(scene)).toEqual(["2026-03-02T12:18:00.000Z"]);
  scene.on("2026-03-04");
  await scene.sweep();
  expect(await dueTimes(scene)).toEqual(["2026-03-05T00:00:00.000Z"]);
  bank.status = "succeeded";
  scene.on("2026-03-05");
  await scene.sweep();
  expect(await dueTimes(scene)).toEqual([]);
  expect([bank.charged, bank.asked, await scene.balance()]).toEqual([1, 3, "40.00"]);
});

test("if the provider does not answer, it is called again after half of the recharge's age, but after an hour at most", async () => {
  const scene = await newRechargeScene();
  scene.faults.push("before", "before");
  await runLow(scene);
  expect(await dueTimes(scene)).toEqual(["2026-03-02T12:02:00.000Z"]);
  scene.on("2026-03-04");
  await scene.sweep();
  expect(await dueTimes(scene)).toEqual(["2026-03-04T13:00:00.000Z"]);
});

test("a charge that the bank processes goes on when recharges are switched off, and is credited", async () => {
  const scene = await newRechargeScene();
  const bank = slowBank(scene);
  await runLow(scene);
  await scene.update({ enabled: false });
  scene.on("2026-03-03");
  await scene.sweep();
  expect(await scene.settings()).toMatchObject({ month_amount: "25.00", last_recharge: { status: "processing" } });
  bank.status = "succeeded";
  scene.on("2026-03-04");
  await scene.sweep();
  expect([bank.charged, await scene.balance()]).toEqual([1, "40.00"]);
});

test.each(["processing", "failed"] as const)(
  "a report that a charge is %s changes nothing after the charge has succeeded",
  async (status) => {
    const scene = await newRechargeScene();
    await runLow(scene);
    const [charge] = scene.charges;
    if (!charge) throw new Error("nothing was charged");
    const before = await scene.settings();
    await settleRecharge({ ...charge, status }, scene.work);
    expect(await scene.settings()).toEqual(before);
    expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
    expect(await dueTimes(scene)).toEqual([]);
  },
);

test("a charge whose recharge is not known is credited, because the money was taken", async () => {
  const scene = await newRechargeScene();
  const charge = { id: "ch_1", accountId: scene.accountId, reference: randomUUID(), amount: 2_500, currency: "USD" };
  for (let times = 0; times < 2; times++) await settleRecharge({ ...charge, status: "succeeded" }, scene.work);
  expect(await scene.balance()).toBe("55.00");
});

test("a success that is reported late for a recharge that was given up leaves the next recharge running", async () => {
  const scene = await newRechargeScene();
  scene.faults.push("after");
  await runLow(scene);
  const [first] = scene.charges;
  if (!first) throw new Error("nothing was charged");
  await scene.update({ enabled: false });
  scene.on("2026-03-03");
  await scene.sweep();
  await scene.update({ enabled: true });
  const bank = slowBank(scene);
  await scene.watch();
  await scene.sweep();
  await settleRecharge(first, scene.work);
  expect(await scene.settings()).toMatchObject({ state: "running", month_count: 2 });
  await runLow(scene, 3_500);
  expect(bank.charged).toBe(1);
});

test("a charge that is reported with two amounts is credited with the first one, and reported to the operator", async () => {
  const scene = await newRechargeScene();
  await runLow(scene);
  const [charge] = scene.charges;
  if (!charge) throw new Error("nothing was charged");
  const logged = watchErrors(scene);
  await settleRecharge({ ...charge, amount: 9_900 }, scene.work);
  expect(await scene.balance()).toBe("40.00");
  expect(logged.map(([message]) => message)).toContain("a charge was reported with two amounts");
});

test("a charge that succeeds after the account was closed is credited, and reported to the operator once", async () => {
  const scene = await newRechargeScene();
  scene.faults.push("after");
  await runLow(scene);
  const [charge] = scene.charges;
  if (!charge) throw new Error("nothing was charged");
  await closeAccount(testTable(), scene.accountId, scene.work.now());
  const { posted } = await scene.wallet();
  const logged = watchErrors(scene);
  for (let times = 0; times < 2; times++) await settleRecharge(charge, scene.work);
  expect(logged).toEqual([["a closed account was paid", { account_id: scene.accountId, amount: "25.00" }]]);
  expect((await scene.wallet()).posted).toBe(posted + 2_500);
});

test.each([
  ["2026-03-31", { month_amount: "25.00", month_count: 1 }],
  ["2026-04-01", { month_amount: "0.00", month_count: 0 }],
] as const)(
  "a recharge that was given up counts again if its charge is reported as successful in the same month (%s)",
  async (day, counted) => {
    const scene = await newRechargeScene();
    scene.faults.push("after");
    await runLow(scene);
    await scene.update({ enabled: false });
    scene.on("2026-03-03");
    await scene.sweep();
    expect(await scene.settings()).toMatchObject({ month_amount: "0.00", last_recharge: { status: "failed" } });
    const [charge] = scene.charges;
    if (!charge) throw new Error("nothing was charged");
    scene.on(day);
    await settleRecharge(charge, scene.work);
    expect(await scene.settings()).toMatchObject({ ...counted, last_recharge: { status: "succeeded" } });
    expect(await scene.balance()).toBe("40.00");
  },
);

test("the recharges of a month stay within their cap and their count, even if two processes watch at once", async () => {
  const scene = await newRechargeScene();
  await scene.update({ monthly_cap: "60.00" });
  for (let round = 0; round < 4; round++) {
    const { posted } = await scene.wallet();
    if (posted > 500) await scene.post(spend(posted - 500));
    await Promise.all([scene.watch(), scene.watch()]);
    await scene.sweep();
  }
  const told = (await rechargesOf(scene)).map(([verb]) => String(verb));
  expect(new Set(told)).toEqual(new Set(["limit_reached", "succeeded"]));
  expect(told).toHaveLength(3);
  expect(await scene.settings()).toMatchObject({ state: "cap_reached", month_amount: "50.00" });
  await scene.update({ monthly_cap: "100.00", max_per_month: 2 });
  await scene.watch();
  expect(await scene.settings()).toMatchObject({ state: "cap_reached", month_count: 2 });
  scene.on("2026-04-01");
  await scene.watch();
  await scene.sweep();
  expect(await scene.settings()).toMatchObject({ state: "ready", month_amount: "25.00", month_count: 1 });
});

test("a declined charge is tried again after 1, 3 and 5 days, then recharges are switched off, and each step has an event", async () => {
  const scene = await newRechargeScene("declined");
  await runLow(scene);
  const days = ["2026-03-03", "2026-03-05", "2026-03-07"];
  expect(rechargeRetryDays).toHaveLength(days.length);
  for (const [index, day] of days.entries()) {
    expect(await rechargesOf(scene)).toHaveLength(index + 1);
    expect(await scene.settings()).toMatchObject({ state: "waiting", month_amount: "0.00", month_count: 0 });
    await scene.watch();
    await scene.sweep();
    expect(await rechargesOf(scene)).toHaveLength(index + 1);
    scene.on(day);
    await scene.sweep();
    await scene.sweep();
  }
  expect((await rechargesOf(scene)).map(([verb]) => verb)).toEqual([
    "failed",
    "failed",
    "failed",
    "failed",
    "disabled",
  ]);
  const failed = await scene.changes("billing.recharge.failed");
  expect(failed.map(({ after }) => after["retry_at"])).toEqual([
    ...days.map((day) => expect.stringContaining(day)),
    null,
  ]);
  const [disabled] = await scene.changes("billing.recharge.disabled");
  expect(disabled?.after["reason"]).toMatch(/^The last 4 recharges failed: ./);
  expect(await scene.settings()).toMatchObject({ enabled: false, state: "off" });
  expect(await scene.balance()).toBe("15.00");
});

test("a watch of a wallet that has enough changes no settings", async () => {
  const { accountId, watch } = await newRechargeScene();
  const before = await readSettings(testTable(), accountId, "2026-03-02");
  await watch();
  expect(await readSettings(testTable(), accountId, "2026-03-02")).toEqual(before);
});

test.each<[string, (scene: Scene) => Promise<unknown>]>([
  ["the customer has paid", (scene) => scene.topUp(1_000).then(scene.watch)],
  [
    "a recharge has succeeded",
    async (scene) => {
      scene.on("2026-03-03");
      for (let times = 0; times < 2; times++) await scene.sweep();
    },
  ],
  [
    "the last attempt has failed and recharges are switched on again",
    async (scene) => {
      for (const day of ["2026-03-03", "2026-03-05", "2026-03-07"] as const) {
        scene.faults.push("refusal");
        scene.on(day);
        for (let times = 0; times < 2; times++) await scene.sweep();
      }
      expect(await scene.settings()).toMatchObject({ enabled: false });
      await scene.update({ enabled: true });
    },
  ],
])("the first failure after %s is followed by an attempt on the next day", async (_, end) => {
  const scene = await newRechargeScene();
  scene.faults.push("refusal");
  await runLow(scene);
  await end(scene);
  scene.on("2026-03-10");
  scene.faults.push("refusal");
  await runLow(scene, (await scene.wallet()).posted - 500);
  const failed = await scene.changes("billing.recharge.failed");
  expect(failed.at(-1)?.after["retry_at"]).toBe("2026-03-11T12:00:00.000Z");
});

test.each([
  ["is logged for the operator if the provider refused it", "The account of the operator is closed.", 1],
  ["is not logged as an error if the bank declined it", undefined, 0],
] as const)("a failed charge %s", async (_, refusal, errors) => {
  const scene = await newRechargeScene("declined");
  const { charge } = scene.work.payments;
  scene.work.payments.charge = async (input) => ({ ...(await charge(input)), ...(refusal && { refusal }) });
  const logged = watchErrors(scene);
  await runLow(scene);
  expect(await rechargesOf(scene)).toEqual([["failed", "25.00"]]);
  expect(logged).toHaveLength(errors);
  if (refusal) expect(logged[0]?.[1]).toMatchObject({ account_id: scene.accountId, reason: refusal });
});

test("a refused charge ends its recharge, and the next recharge uses the changed amount", async () => {
  const scene = await newRechargeScene();
  scene.faults.push("refusal");
  await runLow(scene);
  expect(await rechargesOf(scene)).toEqual([["failed", "25.00"]]);
  expect(await scene.settings()).toMatchObject({ state: "waiting", last_recharge: { reason: "Too small." } });
  await scene.update({ amount: "30.00" });
  scene.on("2026-03-03");
  await scene.sweep();
  await scene.sweep();
  expect(await scene.balance()).toBe("45.00");
});

test("a new card ends the wait after a declined charge", async () => {
  const scene = await newRechargeScene("declined");
  await runLow(scene);
  scene.on("2026-03-02", "19:00");
  await scene.enter("works");
  await scene.watch();
  await scene.sweep();
  expect(await scene.balance()).toBe("40.00");
});

test("switching recharges off and on does not bring the next attempt forward", async () => {
  const scene = await newRechargeScene("declined");
  await runLow(scene);
  const before = await scene.settings();
  for (let time = 0; time < 3; time++) {
    await scene.update({ enabled: false });
    await scene.update({ enabled: true });
    await scene.watch();
    await scene.sweep();
  }
  expect(scene.charges).toHaveLength(1);
  expect(await scene.settings()).toEqual(before);
});

test("a recharge that fails while recharges are switched off is tried again on the next day if they are on again", async () => {
  const scene = await newRechargeScene("declined");
  scene.faults.push("before");
  await runLow(scene);
  const { last_recharge } = await scene.settings();
  const charge = { id: "ch_1", accountId: scene.accountId, reference: last_recharge?.id ?? "", amount: 2_500 };
  await settleRecharge({ ...charge, currency: "USD", status: "processing" }, scene.work);
  await scene.update({ enabled: false });
  await settleRecharge({ ...charge, currency: "USD", status: "failed" }, scene.work);
  await scene.update({ enabled: true });
  expect(await scene.settings()).toMatchObject({ state: "waiting", retry_at: expect.stringMatching(/^2026-03-03T/) });
  scene.on("2026-03-03", "23:00");
  await scene.sweep();
  await scene.sweep();
  expect(scene.charges).toHaveLength(1);
});

test("at most four charges are tried on a day, even with new cards, and the next charge is on the next day", async () => {
  const scene = await newRechargeScene("declined");
  await runLow(scene);
  for (let hour = 13; hour < 19; hour++) {
    scene.on("2026-03-02", `${hour}:00`);
    await scene.enter("declined");
    await scene.update({ enabled: false });
    await scene.update({ enabled: true });
    await scene.watch();
    await scene.sweep();
  }
  expect(scene.charges).toHaveLength(4);
  expect(await scene.settings()).toMatchObject({ state: "waiting", retry_at: "2026-03-03T00:00:00.000Z" });
  // A worker whose clock is behind does not begin the count again.
  await scene.enter("declined");
  scene.on("2026-03-01", "23:59");
  await scene.watch();
  await scene.sweep();
  expect(scene.charges).toHaveLength(4);
  expect(await scene.settings()).toMatchObject({ state: "waiting", retry_at: "2026-03-03T00:00:00.000Z" });
  scene.on("2026-03-02", "19:00");
  await scene.enter("works");
  scene.on("2026-03-03");
  await scene.sweep();
  await scene.sweep();
  expect(scene.charges).toHaveLength(5);
  expect(await scene.balance()).toBe("40.00");
});

test.each<[string, (scene: Scene) => Promise<unknown>]>([
  ["recharges are switched off", (scene) => scene.update({ enabled: false })],
  ["the account is closed", (scene) => closeAccount(testTable(), scene.accountId, scene.work.now())],
])("a planned recharge takes no money if %s before its charge", async (_, end) => {
  const scene = await newRechargeScene();
  await scene.post(spend(1_500));
  await scene.watch();
  await end(scene);
  await scene.sweep();
  await scene.sweep();
  expect(scene.charges).toEqual([]);
  expect(await rechargesOf(scene)).toEqual([]);
  expect(await scene.settings()).toMatchObject({
    month_amount: "0.00",
    month_count: 0,
    last_recharge: { status: "failed" },
  });
});

test("a charge that the payer must confirm opens a payment page for its amount, and the payment is credited once", async () => {
  const scene = await newRechargeScene("confirm");
  await runLow(scene);
  const [told] = await scene.changes("billing.recharge.action_required");
  const url = String(told?.after["action_url"]);
  expect(url).toContain("/_local/checkout/cs_local_");
  const checkoutId = url.split("/").at(-1) ?? "";
  const { reference } = await scene.work.payments.getCheckout(checkoutId);
  await scene.pay({ checkoutId, reference, amount: 2_500 });
  expect(await scene.balance()).toBe("40.00");
  await scene.watch();
  scene.on("2026-03-10");
  await scene.sweep();
  expect(await scene.balance()).toBe("40.00");
  expect(await scene.settings()).toMatchObject({
    state: "ready",
    month_amount: "0.00",
    last_recharge: { status: "confirmed", amount: "25.00" },
  });
  expect((await scene.settings()).last_recharge).not.toHaveProperty("action_url");
});

test("a charge that the payer must confirm fails when its page expires, and a late payment still confirms it", async () => {
  const scene = await newRechargeScene("confirm");
  await runLow(scene);
  const { last_recharge } = await scene.settings();
  const checkoutId = last_recharge?.action_url?.split("/").at(-1) ?? "";
  const { reference } = await scene.work.payments.getCheckout(checkoutId);
  const facts = { checkoutId, reference, accountId: scene.accountId, amount: 2_500, currency: "USD" };
  await scene.tell({ ...facts, id: "evt_1", type: "expired", at: scene.work.now() });
  expect(await scene.settings()).toMatchObject({ last_recharge: { status: "failed" } });
  await scene.pay({ checkoutId, reference, amount: 2_500 });
  await scene.tell({ ...facts, id: "evt_1", type: "expired", at: scene.work.now() });
  expect(await scene.settings()).toMatchObject({ last_recharge: { status: "confirmed" } });
});

/** Pays the page of the last recharge. */
async function confirmLast(scene: Scene): Promise<void> {
  const { last_recharge } = await scene.settings();
  const checkoutId = last_recharge?.action_url?.split("/").at(-1) ?? "";
  const { reference, amount } = await scene.work.payments.getCheckout(checkoutId);
  await scene.pay({ checkoutId, reference, amount });
}

test("recharges that the payer confirms at once go on without a wait, and never switch recharges off", async () => {
  const scene = await newRechargeScene("confirm");
  await scene.update({ threshold: "350.00", amount: "20.00" });
  for (let day = 2; day < 4; day++) {
    scene.on(`2026-03-0${day}`);
    for (let time = 0; time < 3; time++) {
      await scene.watch();
      await scene.sweep();
      expect(await scene.settings()).toMatchObject({ last_recharge: { status: "action_required" } });
      await confirmLast(scene);
      expect(await scene.settings()).toMatchObject({ enabled: true, state: "ready", retry_at: null });
    }
  }
  expect(await scene.balance()).toBe("150.00");
  expect(await scene.settings()).toMatchObject({ month_amount: "0.00", month_count: 0 });
  expect(await scene.changes("billing.recharge.disabled")).toEqual([]);
});

/** An account in which all four tries of a recharge need a confirmation, and nobody has paid a page. */
async function afterLastPage(): Promise<Scene> {
  const scene = await newRechargeScene("confirm");
  await runLow(scene);
  for (const day of ["2026-03-03", "2026-03-05", "2026-03-07"]) {
    scene.on(day);
    await scene.sweep();
    await scene.sweep();
  }
  expect(scene.charges).toHaveLength(4);
  expect(await scene.settings()).toMatchObject({ enabled: true, state: "waiting", retry_at: null });
  return scene;
}

test("a confirmation of the last try keeps recharges on", async () => {
  const scene = await afterLastPage();
  await confirmLast(scene);
  scene.on("2026-03-09");
  await scene.sweep();
  expect(await scene.settings()).toMatchObject({ enabled: true, state: "ready" });
  expect(await scene.changes("billing.recharge.disabled")).toEqual([]);
  await runLow(scene, 2_500);
  expect(scene.charges).toHaveLength(5);
});

test("recharges are switched off a day after the last try if nobody pays its page, and can be switched on again", async () => {
  const scene = await afterLastPage();
  scene.on("2026-03-07", "22:00");
  await Promise.all([scene.watch(), scene.sweep()]);
  expect(await scene.settings()).toMatchObject({ enabled: true, state: "waiting" });
  scene.on("2026-03-09");
  await Promise.all([scene.sweep(), scene.watch()]);
  await scene.watch();
  expect(await scene.settings()).toMatchObject({ enabled: false, state: "off" });
  const disabled = await scene.changes("billing.recharge.disabled");
  expect(disabled.map(({ after }) => after["reason"])).toEqual([expect.stringMatching(/^The last 4 recharges failed/)]);
  expect(scene.charges).toHaveLength(4);
  await scene.update({ enabled: true });
  await scene.watch();
  await scene.sweep();
  expect(scene.charges).toHaveLength(5);
});

test("recharges that the customer switches off during the last page can be switched on again after it", async () => {
  const scene = await afterLastPage();
  await scene.update({ enabled: false });
  scene.on("2026-03-09");
  await scene.sweep();
  await scene.update({ enabled: true });
  await scene.watch();
  await scene.sweep();
  expect(scene.charges).toHaveLength(5);
  expect(await scene.changes("billing.recharge.disabled")).toEqual([]);
});

test("recharges that the customer switches off and on again during the last page stay on, and wait for its end", async () => {
  const scene = await afterLastPage();
  await scene.update({ enabled: false });
  await scene.update({ enabled: true });
  await Promise.all([scene.watch(), scene.sweep()]);
  expect(scene.charges).toHaveLength(4);
  scene.on("2026-03-09");
  await scene.watch();
  await scene.sweep();
  expect(scene.charges).toHaveLength(5);
  expect(await scene.changes("billing.recharge.disabled")).toEqual([]);
});

test("the account is closed during the last page, and nothing is changed when the page ends", async () => {
  const scene = await afterLastPage();
  await setAccountStatus(testTable(), scene.accountId, "closed", scene.work.now());
  scene.on("2026-03-09");
  await scene.sweep();
  expect(await scene.changes("billing.recharge.disabled")).toEqual([]);
});

test("the paid page of an earlier recharge leaves the wait after a later declined charge", async () => {
  const scene = await newRechargeScene("confirm");
  await scene.update({ threshold: "350.00", amount: "20.00" });
  await scene.watch();
  await scene.sweep();
  const { last_recharge } = await scene.settings();
  const checkoutId = last_recharge?.action_url?.split("/").at(-1) ?? "";
  const { reference, amount } = await scene.work.payments.getCheckout(checkoutId);
  await scene.enter("declined");
  scene.on("2026-03-04");
  await scene.watch();
  await scene.sweep();
  const { state, retry_at } = await scene.settings();
  expect(state).toBe("waiting");
  await scene.pay({ checkoutId, reference, amount });
  expect(await scene.settings()).toMatchObject({ state, retry_at });
});

test.each(["works", "declined", "confirm"] as const)(
  "a card that is saved during a charge of another card (%s) is kept, and is charged if that charge fails",
  async (kind) => {
    const scene = await newRechargeScene(kind);
    scene.faults.push("before");
    await runLow(scene);
    scene.on("2026-03-02", "19:00");
    await scene.enter("works");
    scene.on("2026-03-03");
    await scene.sweep();
    await scene.sweep();
    await scene.sweep();
    expect(await scene.balance()).toBe("40.00");
    expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
    expect(await scene.settings()).toMatchObject({ state: "ready", month_amount: "25.00", month_count: 1 });
    expect(scene.charges.map(({ reason }) => String(reason)).join()).not.toMatch(/removed/);
  },
);

test("a card that is saved while a declined charge is settled is charged at once", async () => {
  const scene = await newRechargeScene("declined");
  const isMethod = ({ PK, SK }: { PK: string; SK: string }): boolean =>
    PK === `ACCOUNT#${scene.accountId}` && SK === "PAYMENT_METHOD";
  await scene.post(spend(1_500));
  await scene.watch();
  await afterReading(isMethod, () => scene.enter("works"), scene.sweep);
  for (let times = 0; times < 2; times++) await scene.sweep();
  expect(await scene.balance()).toBe("40.00");
  expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
});

test("a replaced card is removed at the provider, at once or after the charge that uses it", async () => {
  const scene = await newRechargeScene();
  const removed = watchRemovals(scene);
  scene.on("2026-03-02", "13:00");
  await scene.enter("works");
  expect(removed).toHaveLength(1);
  scene.faults.push("before");
  await runLow(scene);
  scene.on("2026-03-02", "14:00");
  await scene.enter("works");
  expect(removed).toHaveLength(1);
  scene.on("2026-03-03");
  await scene.sweep();
  expect(new Set(removed).size).toBe(2);
});

test("a replaced card is kept at the provider until the bank has processed its charge", async () => {
  const scene = await newRechargeScene();
  const removed = watchRemovals(scene);
  const bank = slowBank(scene);
  await runLow(scene);
  scene.on("2026-03-02", "13:00");
  await scene.enter("works");
  await scene.sweep();
  expect([bank.asked, removed]).toEqual([1, []]);
  bank.status = "succeeded";
  scene.on("2026-03-03");
  await scene.sweep();
  expect(removed).toHaveLength(1);
});

test("a card is removed at the provider once, and a deletion without a card asks the provider for nothing", async () => {
  const { accountId, context } = await newRechargeScene();
  const card = (await readMethod(testTable(), accountId))?.card?.id;
  const removed: string[] = [];
  const removeCard = async (id: string) => void removed.push(id);
  for (let times = 0; times < 2; times++) await deletePaymentMethod(accountId, context, { removeCard });
  expect(removed).toEqual([card]);
});

test("a deletion of a card keeps another card that is saved meanwhile, and its automatic recharges", async () => {
  const scene = await newRechargeScene();
  const { accountId, context } = scene;
  scene.on("2026-03-02", "13:00");
  await deletePaymentMethod(accountId, context, { removeCard: () => scene.enter("confirm") });
  expect((await readMethod(testTable(), accountId))?.card).toMatchObject({ saved_at: "2026-03-02T13:00:00.000Z" });
  expect(await scene.settings()).toMatchObject({ enabled: true, state: "ready" });
  expect(await scene.events()).not.toContain("billing.payment_method.deleted");
  expect(await rechargesOf(scene)).toEqual([]);
});

test("a monthly limit that stops recharges is reported once a month", async () => {
  const scene = await newRechargeScene();
  await scene.update({ monthly_cap: "40.00" });
  const told = async () => (await scene.changes("billing.recharge.limit_reached")).map(({ after }) => after["reason"]);
  await runLow(scene);
  expect(await told()).toEqual([]);
  await runLow(scene, 2_500);
  await Promise.all([scene.watch(), scene.watch()]);
  const cap =
    "A recharge of 25.00 USD would pass your monthly cap of 40.00 USD: the recharges of this month have taken 25.00 USD.";
  expect(await told()).toEqual([cap]);
  await scene.update({ monthly_cap: "100.00", max_per_month: 1 });
  await scene.watch();
  expect(await told()).toEqual([cap]);
  scene.on("2026-04-01");
  await scene.watch();
  await scene.sweep();
  expect(await told()).toHaveLength(1);
  await runLow(scene, 3_500);
  expect(await told()).toEqual([cap, "The limit of recharges in a month (1) is reached."]);
});

test("an invoice that the wallet cannot pay is paid by a recharge of the missing amount", async () => {
  const scene = await newRechargeScene();
  await scene.update({ threshold: "0.01" });
  await scene.use({ mailboxes: 20 });
  scene.on("2026-04-01");
  await scene.run("2026-03-31");
  expect(await scene.account()).toMatchObject({ status: "past_due" });
  const [invoice] = await scene.invoices();
  expect(invoice?.total).toBeGreaterThan(5_500);
  await scene.watch();
  await scene.sweep();
  expect(await scene.account()).toMatchObject({ status: "active" });
  expect(await rechargesOf(scene)).toEqual([["succeeded", ((invoice?.total ?? 0) / 100 - 30).toFixed(2)]]);
  expect(await scene.balance()).toBe("0.00");
});

test.each([
  ["50.00", "50.00", "the whole debt"],
  ["49.99", "25.00", "the usual amount, because the whole debt would pass the cap"],
])("of a debt of 50.00, a recharge under a monthly cap of %s takes %s: %s", async (monthly_cap, amount) => {
  const scene = await newRechargeScene();
  await scene.update({ monthly_cap });
  await scene.post(spend(3_000));
  await scene.tell(refunds(scene.accountId, 5_000));
  expect(await scene.state()).toMatchObject({ owed: 5_000 });
  await scene.watch();
  await scene.sweep();
  expect(await rechargesOf(scene)).toEqual([["succeeded", amount]]);
});

test("no recharge begins for an account that somebody suspended, but one begins if billing suspended it for its debt", async () => {
  const scene = await newRechargeScene();
  await scene.post(spend(1_500));
  await setAccountStatus(testTable(), scene.accountId, "suspended", scene.work.now());
  await scene.watch();
  await scene.sweep();
  expect(await rechargesOf(scene)).toEqual([]);
  const owing = await newRechargeScene();
  await owing.update({ enabled: false });
  await owing.use({ mailboxes: 20 });
  owing.on("2026-04-01");
  await owing.run("2026-03-31");
  owing.on("2026-04-20");
  await owing.run("2026-04-19");
  expect(await owing.account()).toMatchObject({ status: "suspended" });
  await owing.update({ enabled: true });
  await owing.watch();
  await owing.sweep();
  expect((await rechargesOf(owing)).map(([verb]) => verb)).toEqual(["succeeded"]);
  expect(await owing.account()).toMatchObject({ status: "active" });
});

test("the usual amount pays one of two open invoices if the monthly cap does not allow to pay both", async () => {
  const scene = await newRechargeScene();
  await scene.update({ enabled: false, monthly_cap: "25.00" });
  await scene.post(spend(2_900));
  await scene.use({ mailboxes: 5 });
  for (const [day, last] of [
    ["2026-04-01", "2026-03-31"],
    ["2026-05-01", "2026-04-30"],
  ] as const) {
    scene.on(day);
    await scene.run(last);
  }
  expect((await scene.invoices()).map(({ status }) => status)).toEqual(["open", "open"]);
  await scene.update({ enabled: true });
  await scene.watch();
  await scene.sweep();
  expect(await rechargesOf(scene)).toEqual([["succeeded", "25.00"]]);
  expect((await scene.invoices()).map(({ status }) => status).toSorted()).toEqual(["open", "paid"]);
});

test("the card is not charged for an invoice that the monthly cap does not allow to pay", async () => {
  const scene = await newRechargeScene();
  await scene.update({ threshold: "0.01", monthly_cap: "25.00" });
  await scene.use({ mailboxes: 20 });
  scene.on("2026-04-01");
  await scene.run("2026-03-31");
  await scene.watch();
  await scene.sweep();
  const [invoice] = await scene.invoices();
  expect(await rechargesOf(scene)).toEqual([["limit_reached", ((invoice?.total ?? 0) / 100 - 30).toFixed(2)]]);
  expect(await scene.balance()).toBe("30.00");
});

test("a low balance is reported once, and again only after it was above the threshold", async () => {
  const scene = await newRechargeScene();
  await scene.update({ enabled: false });
  const told = async () => (await scene.changes("billing.wallet.low_balance")).map(({ after }) => after["available"]);
  await scene.post(spend(2_800));
  expect(await told()).toEqual([]);
  await scene.watch();
  await Promise.all([scene.watch(), scene.watch()]);
  expect(await told()).toEqual([]);
  await scene.post(spend(150));
  await scene.watch();
  await scene.watch();
  expect(await told()).toEqual(["0.50"]);
  await scene.topUp(1_000);
  await scene.watch();
  await scene.post(spend(1_000));
  await scene.watch();
  expect(await told()).toEqual(["0.50", "0.50"]);
});

test("a low balance is not reported if a recharge is running, unless the recharge is too small or fails", async () => {
  const told = async (scene: Scene) => (await scene.changes("billing.wallet.low_balance")).length;
  const scene = await newRechargeScene();
  await scene.alertBelow("30.00");
  await runLow(scene);
  expect([await scene.balance(), await told(scene)]).toEqual(["40.00", 0]);
  const declined = await newRechargeScene("declined");
  await declined.alertBelow("18.00");
  await runLow(declined);
  expect(await told(declined)).toBe(0);
  await declined.watch();
  expect(await told(declined)).toBe(1);
  const short = await newRechargeScene();
  await short.alertBelow("50.00");
  await short.post(spend(1_500));
  await short.watch();
  expect(await told(short)).toBe(1);
});

test("there is a notice 7 days and 1 day before the wallet cannot pay the month, and before a suspension", async () => {
  const scene = await newRechargeScene();
  await scene.update({ enabled: false });
  await scene.use({ mailboxes: 30 });
  const notices = async () =>
    (await scene.changes("billing.wallet.")).flatMap(({ type, after }) =>
      type.endsWith("_soon") ? [[type.split(".").at(-1), after["days"], after["due_on"] ?? after["suspends_on"]]] : [],
    );
  for (let day = 3; day <= 31; day++) {
    scene.on(`2026-03-${String(day).padStart(2, "0")}`);
    await scene.run(`2026-03-${String(day - 1).padStart(2, "0")}`);
    await scene.notices();
    await scene.notices();
  }
  expect(await notices()).toEqual([
    ["past_due_soon", 7, "2026-04-01"],
    ["past_due_soon", 1, "2026-04-01"],
  ]);
  const [first] = await scene.changes("billing.wallet.past_due_soon");
  for (let day = 1; day <= 16; day++) {
    scene.on(`2026-04-${String(day).padStart(2, "0")}`);
    await scene.run(day === 1 ? "2026-03-31" : `2026-04-${String(day - 1).padStart(2, "0")}`);
    await scene.notices();
  }
  const [invoice] = await scene.invoices();
  expect(first?.after["expected_charge"]).toBe(invoice?.amount);
  expect((await notices()).slice(2)).toEqual([
    ["suspension_soon", 7, "2026-04-15"],
    ["suspension_soon", 1, "2026-04-15"],
  ]);
  expect(await scene.account()).toMatchObject({ status: "suspended" });
});

/** The provider's report about the refunds of a payment, in minor units. A negative amount is a failed refund. */
const refunds = (accountId: string, ...amounts: number[]) => ({
  id: randomUUID(),
  type: "refund" as const,
  paymentId: "pi_1",
  accountId,
  refunds: amounts.map((amount, index) => ({ id: `re_${index}`, amount: Math.abs(amount), isFailed: amount < 0 })),
  currency: "USD",
});

const refundsOf = async (scene: Scene) =>
  (await scene.changes("billing.refund."))
    .map(({ type, after }) => `${type.split(".").at(-1)} ${String(after["amount"])}`)
    .toSorted();

test("each refund is taken from the wallet once, even if reports are repeated or an older report comes later", async () => {
  const scene = await newRechargeScene();
  for (const all of [[500], [500, 700], [500], [500, 700]]) await scene.tell(refunds(scene.accountId, ...all));
  expect(await scene.balance()).toBe("18.00");
  expect(await refundsOf(scene)).toEqual(["created 5.00", "created 7.00"]);
});

test("a refund that fails at the bank is returned to the wallet once, even if an older report comes later", async () => {
  const scene = await newRechargeScene();
  const failed = refunds(scene.accountId, 500, -700);
  await scene.tell(refunds(scene.accountId, 500, 700));
  await Promise.all([scene.tell(failed), scene.tell({ ...failed, id: randomUUID() })]);
  await scene.tell(refunds(scene.accountId, 500, 700));
  expect(await scene.balance()).toBe("25.00");
  await scene.tell(refunds(scene.accountId, 500, -700, 900));
  expect(await scene.balance()).toBe("16.00");
  expect(await refundsOf(scene)).toEqual(["created 5.00", "created 7.00", "created 9.00", "failed 7.00"]);
});

test("a refund is never taken from the wallet if its failure is reported first", async () => {
  const scene = await newRechargeScene();
  await scene.tell(refunds(scene.accountId, -500));
  await scene.tell(refunds(scene.accountId, 500));
  expect([await scene.balance(), await refundsOf(scene)]).toEqual(["30.00", []]);
});

test("a refund that an earlier version stored only in a sum is not taken again, and is returned if it fails", async () => {
  const scene = await newRechargeScene();
  const { accountId } = scene;
  const row = { payment_id: "pi_1", refunded: 500, version: 1 };
  await testTable().attempt({ put: { PK: `ACCOUNT#${accountId}`, SK: "REFUNDED#pi_1", ...row } });
  await scene.tell(refunds(accountId, 500, 300));
  expect(await scene.balance()).toBe("27.00");
  await scene.tell(refunds(accountId, -500, 300));
  expect(await scene.balance()).toBe("32.00");
});

test("a failed refund ends the debt that the refund caused, and the account is active again", async () => {
  const scene = await newRechargeScene();
  await scene.update({ enabled: false });
  await scene.post(spend(2_000));
  await scene.tell(refunds(scene.accountId, 1_500));
  expect(await scene.state()).toMatchObject({ owed: 500 });
  expect(await scene.account()).toMatchObject({ status: "past_due" });
  await scene.tell(refunds(scene.accountId, -1_500));
  expect(await scene.state()).toMatchObject({ owed: 0 });
  expect(await scene.account()).toMatchObject({ status: "active" });
  expect(await scene.balance()).toBe("10.00");
});

const dispute = (accountId: string, status: "open" | "won" | "lost") => ({
  id: randomUUID(),
  type: "dispute" as const,
  disputeId: "du_1",
  paymentId: "pi_1",
  accountId,
  amount: 3_000,
  currency: "USD",
  status,
  reason: "fraudulent",
});

test("if disputed money is already spent, the account owes the rest, and top-ups pay it", async () => {
  const scene = await newRechargeScene();
  await scene.update({ enabled: false });
  await scene.post(spend(2_000));
  await scene.tell(dispute(scene.accountId, "open"));
  await scene.tell(dispute(scene.accountId, "open"));
  expect(await scene.wallet()).toMatchObject({ posted: 0, available: 0 });
  expect(await scene.state()).toMatchObject({ owed: 2_000 });
  expect(await scene.account()).toMatchObject({ status: "past_due" });
  expect((await scene.changes("billing.dispute."))[0]).toMatchObject({
    type: "billing.dispute.opened",
    after: { amount: "30.00", owed: "20.00" },
  });
  await scene.topUp(500);
  expect(await scene.state()).toMatchObject({ owed: 1_500 });
  expect(await scene.account()).toMatchObject({ status: "past_due" });
  await scene.topUp(2_000);
  expect(await scene.state()).toMatchObject({ owed: 0 });
  expect(await scene.account()).toMatchObject({ status: "active" });
  expect(await scene.balance()).toBe("5.00");
});

test.each<["won" | "lost", string]>([
  ["won", "30.00"],
  ["lost", "0.00"],
])("a dispute that is %s leaves %s in the wallet, in any order of its reports", async (status, left) => {
  for (const order of [["open", status] as const, [status, "open"] as const]) {
    const scene = await newRechargeScene();
    await scene.update({ enabled: false });
    for (const one of [...order, status]) await scene.tell(dispute(scene.accountId, one));
    expect(await scene.balance()).toBe(left);
    expect((await scene.state())?.owed ?? 0).toBe(0);
  }
});
