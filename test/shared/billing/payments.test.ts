import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { checkoutResult } from "../../../shared/billing/checkout-result.ts";
import { handlePayment } from "../../../shared/billing/payments.ts";
import { notFound } from "../../../shared/core/errors.ts";
import type { Payments } from "../../../shared/providers/payments/payments.ts";
import { createTopup } from "../../../shared/wallet/topup.ts";
import { readWallet } from "../../../shared/wallet/wallet.ts";
import { noCards } from "../../support/no-cards.ts";
import { testTable } from "../../support/world.ts";
import { log, newScene, paymentOf } from "./scene.ts";

const table = testTable();

/** An account, by default a new one, with a checkout for 10.00. `tell` reports its payment, and `result` reads its result page. */
async function sceneWithCheckout(given?: Awaited<ReturnType<typeof newScene>>) {
  const scene = given ?? (await newScene("2026-03-01"));
  const checkoutId = randomUUID();
  let [reference, token] = ["", ""];
  const payments: Payments = {
    createCheckout: async (input) => {
      reference = input.reference;
      token = new URL(input.successUrl ?? "").searchParams.get("checkout_token") ?? "";
      return { id: checkoutId, url: "https://pay.example.com", expiresAt: input.expiresAt };
    },
    readEvent: async () => undefined,
    getCheckout: () => Promise.reject(notFound()),
    ...noCards,
  };
  await createTopup(scene.accountId, 1_000, scene.context, { payments, publicUrl: "https://api.example.com" });
  const asking = () => ({ table, payments, publicUrl: "http://here", now: scene.context.now, log });
  const tell = (type: "paid" | "failed" | "expired", amount = 1_000) =>
    scene.pay({ type, amount, checkoutId, reference });
  const result = async () => (await checkoutResult(scene.accountId, token, table, asking)).status;
  return { ...scene, tell, result, posted: async () => (await scene.wallet()).posted };
}

test("a payment is credited once, even if it is reported many times or at the same time", async () => {
  const { tell, result, posted, transactions, events } = await sceneWithCheckout();
  expect(await result()).toBe("pending");
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => tell("paid")));
  expect(outcomes.toSorted()).toEqual(["credited", "known", "known", "known", "known", "known"]);
  expect(await tell("paid")).toBe("known");
  expect([await result(), await posted(), (await transactions()).length]).toEqual(["paid", 1_000, 1]);
  expect((await events()).filter((type) => type === "billing.topup.paid")).toHaveLength(1);
});

test("an account that billing suspended for its debt is active again after it has opened and paid a top-up", async () => {
  const owing = await newScene("2026-02-01");
  for (const [day, last] of [
    ["2026-03-01", "2026-02-28"],
    ["2026-03-15", "2026-03-14"],
  ] as const) {
    owing.on(day);
    await owing.run(last);
  }
  expect(await owing.account()).toMatchObject({ status: "suspended", debt: { missing: 500 } });
  const { tell } = await sceneWithCheckout(owing);
  expect(await tell("paid")).toBe("credited");
  expect(await owing.account()).toMatchObject({ status: "active" });
});

test("the result of a checkout does not depend on the order of its events, or on repeated events", async () => {
  const orders = [
    ["paid", "expired", "failed"],
    ["expired", "paid", "failed", "expired"],
    ["failed", "failed", "expired", "paid"],
    ["failed", "paid", "expired", "paid"],
  ] as const;
  for (const order of orders) {
    const { tell, result, posted } = await sceneWithCheckout();
    for (const type of order) await tell(type);
    expect([await result(), await posted()]).toEqual(["paid", 1_000]);
  }
  for (const order of [
    ["failed", "expired", "failed"],
    ["expired", "failed"],
  ] as const) {
    const { tell, result, posted } = await sceneWithCheckout();
    for (const type of order) await tell(type);
    expect([await result(), await posted()]).toEqual(["expired", 0]);
  }
});

test("a second payment of a paid checkout is ignored if its amount is different", async () => {
  const { tell, result, posted } = await sceneWithCheckout();
  await tell("paid");
  expect(await tell("paid", 2_000)).toBe("ignored");
  expect([await result(), await posted()]).toEqual(["paid", 1_000]);
});

test("a payment in another currency is ignored, and so is a report that an unknown checkout failed", async () => {
  const { pay, posted, events } = await sceneWithCheckout();
  const before = await events();
  expect(await pay({ currency: "EUR" })).toBe("ignored");
  expect(await pay({ type: "failed", reference: "unknown" })).toBe("ignored");
  expect(await posted()).toBe(0);
  expect(await events()).toEqual(before);
});

test("a paid checkout is credited even if its top-up was never stored", async () => {
  const { pay, posted } = await sceneWithCheckout();
  expect(await pay({ checkoutId: "another", reference: "lost", amount: 700 })).toBe("credited");
  expect(await posted()).toBe(700);
});

test("a payment to a missing account is refused, and stores nothing", async () => {
  const accountId = randomUUID();
  const event = paymentOf(accountId, {}, new Date("2026-03-01T00:00:00Z"));
  await expect(handlePayment(event, { table, now: () => event.at, log })).rejects.toMatchObject({ status: 404 });
  expect(await readWallet(table, accountId)).toMatchObject({ posted: 0, version: 0 });
  expect(await table.between(`ACCOUNT#${accountId}`, "A", "Z")).toEqual([]);
});
