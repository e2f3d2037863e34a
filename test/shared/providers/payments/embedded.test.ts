import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { saveCard, testCards } from "../../../../shared/providers/payments/embedded-cards.ts";
import {
  eventBodyOf,
  settleCheckout,
  stripeSignature,
  type Act,
  embeddedPayments,
} from "../../../../shared/providers/payments/embedded.ts";
import { PaymentsEnvironment, paymentsOf } from "../../../../shared/providers/payments/factory.ts";
import type { CheckoutInput } from "../../../../shared/providers/payments/payments.ts";
import { testTable } from "../../../support/world.ts";

const table = testTable();
const webhookSecret = "whsec_of_this_test";
const start = new Date("2026-03-01T12:00:00.250Z");
const inAnHour = new Date("2026-03-01T13:00:00Z");
const tomorrow = new Date("2026-03-02T12:00:00Z");

const paymentsAt = (now: Date) =>
  embeddedPayments(table, { webhookSecret, baseUrl: "http://127.0.0.1:8080", now: () => now });

const input = (given: Partial<CheckoutInput> = {}): CheckoutInput => ({
  reference: "topup-1",
  accountId: "a1",
  amount: 1_250,
  currency: "USD",
  description: "Wallet top-up",
  expiresAt: inAnHour,
  idempotencyKey: randomUUID(),
  ...given,
});

const open = () => paymentsAt(start).createCheckout(input());

/** The event that the product reads after an act at this time. Undefined if the act is not possible. */
async function eventOf(id: string, act: Act, now = start) {
  const checkout = await settleCheckout(table, id, act, now);
  const body = checkout && eventBodyOf(checkout);
  return (
    body && paymentsAt(now).readEvent(body, { "stripe-signature": stripeSignature(body, webhookSecret, now) }, now)
  );
}

test("a checkout has a page on this machine, and can be read by any process with the same table", async () => {
  const checkout = await open();
  expect(checkout.id).toMatch(/^cs_local_[0-9a-f]{36}$/);
  expect(checkout).toMatchObject({ url: `http://127.0.0.1:8080/_local/checkout/${checkout.id}`, expiresAt: inAnHour });
  const other = embeddedPayments(testTable(), { webhookSecret: "", baseUrl: "http://127.0.0.1:1" });
  expect(await paymentsAt(start).getCheckout(checkout.id)).toEqual({
    id: checkout.id,
    status: "open",
    reference: "topup-1",
    accountId: "a1",
    amount: 1_250,
    currency: "USD",
    expiresAt: inAnHour,
    url: checkout.url,
  });
  expect(await other.getCheckout(checkout.id)).toMatchObject({ reference: "topup-1" });
});

test("one idempotency key makes one checkout, even for many requests at once, and is refused for a different checkout", async () => {
  const same = input();
  const made = await Promise.all(Array.from({ length: 5 }, () => paymentsAt(start).createCheckout(same)));
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  for (const other of [{ amount: 1 }, { accountId: "a2" }, { reference: "topup-2" }, { currency: "EUR" }]) {
    await expect(paymentsAt(start).createCheckout({ ...same, ...other })).rejects.toThrow("idempotency key");
  }
});

test("an amount below 0.50 is refused, as by Stripe: a checkout throws, and a charge fails", async () => {
  for (const amount of [1, 49])
    await expect(paymentsAt(start).createCheckout(input({ amount }))).rejects.toMatchObject({ isTooSmall: true });
  expect(await paymentsAt(start).createCheckout(input({ amount: 50 }))).toMatchObject({ id: expect.any(String) });
  const reference = randomUUID();
  const setup = { reference, accountId: "a1", customerId: "c1", expiresAt: inAnHour, idempotencyKey: randomUUID() };
  const { id } = await paymentsAt(start).createCardSetup(setup);
  await saveCard(table, id, { number: testCards.works.number, exp_month: 12, exp_year: 2099 }, start);
  const cardId = (await paymentsAt(start).getCardSetup(id)).card?.id ?? "";
  const charge = (amount: number) => {
    const one = { reference: randomUUID(), accountId: "a1", customerId: "c1", cardId, amount, currency: "USD" };
    return paymentsAt(start).charge({ ...one, description: "Recharge", startedAt: start });
  };
  expect(await charge(49)).toMatchObject({ status: "failed", reason: expect.stringContaining("this small") });
  expect(await charge(50)).toMatchObject({ status: "succeeded" });
});

test.each(["", "cs_local_", "KEY#1", `cs_local_${"0".repeat(36)}`, `cs_local_${"0".repeat(36)}\n`])(
  "%j is not the id of a checkout",
  async (id) => {
    await expect(paymentsAt(start).getCheckout(id)).rejects.toMatchObject({ code: "not_found" });
  },
);

test.each<[Act, string, string]>([
  ["pay", "paid", "paid"],
  ["decline", "failed", "processing"],
  ["close", "expired", "expired"],
])(
  "the act %s ends a checkout once and sends an event, which the product verifies like Stripe's",
  async (act, type, status) => {
    const { id } = await open();
    const at = new Date("2026-03-01T12:30:00.900Z");
    expect(await eventOf(id, act, at)).toEqual({
      id: id.replace("cs_", `evt_${type}_`),
      type,
      checkoutId: id,
      reference: "topup-1",
      accountId: "a1",
      amount: 1_250,
      currency: "USD",
      at: new Date("2026-03-01T12:30:00Z"),
    });
    const state = await paymentsAt(at).getCheckout(id);
    expect(state.status).toBe(status);
    expect(state).not.toHaveProperty("url");
    for (const again of ["pay", "decline", "close"] as const) expect(await eventOf(id, again, at)).toBeUndefined();
  },
);

test("of several concurrent acts on a checkout, only one happens", async () => {
  const { id } = await open();
  const acts: Act[] = ["pay", "decline", "close", "pay", "decline", "close"];
  const settled = await Promise.all(acts.map((act) => settleCheckout(table, id, act, start)));
  expect(settled.filter((one) => one !== undefined)).toHaveLength(1);
});

test("`pay-late` repeats the event of a payment, and pays a closed checkout, but not an open or declined checkout", async () => {
  const [paid, closed, declined, opened] = await Promise.all([open(), open(), open(), open()]);
  const first = await eventOf(paid.id, "pay");
  expect(await eventOf(paid.id, "pay-late", tomorrow)).toEqual(first);
  await eventOf(closed.id, "close");
  const late = await eventOf(closed.id, "pay-late", tomorrow);
  expect(late).toMatchObject({ type: "paid", checkoutId: closed.id });
  expect(await eventOf(closed.id, "pay-late", new Date("2026-03-03T12:00:00Z"))).toEqual(late);
  await eventOf(declined.id, "decline");
  expect(await eventOf(declined.id, "pay-late")).toBeUndefined();
  expect(await eventOf(opened.id, "pay-late")).toBeUndefined();
});

test("a checkout expires by itself, and can then be closed but not paid or declined", async () => {
  const { id } = await open();
  expect(await paymentsAt(new Date(inAnHour.getTime() - 1)).getCheckout(id)).toMatchObject({ status: "open" });
  expect(await paymentsAt(inAnHour).getCheckout(id)).toMatchObject({ status: "expired" });
  expect(await eventOf(id, "pay", inAnHour)).toBeUndefined();
  expect(await eventOf(id, "decline", inAnHour)).toBeUndefined();
  expect(await eventOf(id, "close", inAnHour)).toMatchObject({ type: "expired" });
});

test("a webhook that was signed with another secret is refused", async () => {
  const { id } = await open();
  const checkout = await settleCheckout(table, id, "pay", start);
  const body = checkout ? eventBodyOf(checkout) : "";
  const forged = { "stripe-signature": stripeSignature(body, "whsec_other", start) };
  await expect(paymentsAt(start).readEvent(body, forged, start)).rejects.toMatchObject({ code: "malformed_request" });
});

test("without configuration each use is a 409 that names the feature", async () => {
  const none = paymentsOf(PaymentsEnvironment.parse({}))(table);
  for (const use of [none.createCheckout(input()), none.getCheckout("cs_1"), none.readEvent("", {}, start)]) {
    await expect(use).rejects.toMatchObject({ status: 409, code: "payments_unavailable" });
  }
});

test("an environment has Stripe or the embedded payments, not both", async () => {
  const embedded = { PAYMENTS_WEBHOOK_SECRET: webhookSecret, PAYMENTS_LOCAL_URL: "http://localhost:9000" };
  const { url } = await paymentsOf(PaymentsEnvironment.parse(embedded))(table).createCheckout(
    input({ expiresAt: new Date() }),
  );
  expect(url).toMatch(/^http:\/\/localhost:9000\/_local\/checkout\/cs_local_/);
  expect(() => PaymentsEnvironment.parse({ ...embedded, PAYMENTS_SECRET_NAME: "payments" })).toThrow("either");
});
