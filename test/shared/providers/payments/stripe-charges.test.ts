import { expect, test } from "vitest";

import { stripePayments } from "../../../../shared/providers/payments/stripe.ts";
import { startLoopback, type Recorded } from "../loopback.ts";

const input = {
  reference: "r1",
  accountId: "a1",
  customerId: "cus_1",
  cardId: "pm_1",
  amount: 2_500,
  currency: "USD",
  description: "Automatic top-up",
};

const intentOf = (status: string, more: object = {}) => ({
  id: "pi_1",
  object: "payment_intent",
  amount: 2_500,
  currency: "usd",
  status,
  metadata: { account_id: "a1", recharge_id: "r1" },
  ...more,
});

/** Stripe with one PaymentIntent. `create` is the answer to the charge, and `listed` has the known PaymentIntents. */
async function scene(create: { status: number; body: object }, listed: object[] = []) {
  const list = { object: "list", url: "/v1/payment_intents", has_more: false, data: listed };
  const answerTo = ({ method, path }: Recorded) => {
    if (path.endsWith("/cancel")) return { status: 200, body: intentOf("canceled") };
    return method === "GET" ? { status: 200, body: list } : create;
  };
  const { url, recorded } = await startLoopback(
    (request) => {
      const { status, body } = answerTo(request);
      return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    },
    () => undefined,
  );
  const secret = async () => ({ apiKey: "sk_test_1", webhookSecrets: ["whsec_1"] });
  const payments = stripePayments(secret, { endpoint: new URL(url) });
  return { payments, calls: () => recorded.map(({ method, path }) => `${method} ${path.split("?")[0]}`), recorded };
}

const declined = (code: string, status = "requires_payment_method") => ({
  status: 402,
  body: {
    error: {
      type: "card_error",
      code,
      message: "No.",
      payment_intent: intentOf(status, { last_payment_error: { code, decline_code: code } }),
    },
  },
});

test("a charge is one PaymentIntent, confirmed without the payer, with the recharge's id as its idempotency key", async () => {
  const { payments, recorded } = await scene({ status: 200, body: intentOf("succeeded") });
  expect(await payments.charge({ ...input, startedAt: new Date() })).toMatchObject({ id: "pi_1", status: "succeeded" });
  expect(recorded[0]?.headers["idempotency-key"]).toBe("recharge/r1");
  expect(Object.fromEntries(new URLSearchParams(recorded[0]?.body))).toMatchObject({
    amount: "2500",
    currency: "usd",
    customer: "cus_1",
    payment_method: "pm_1",
    off_session: "true",
    confirm: "true",
    "metadata[account_id]": "a1",
    "metadata[recharge_id]": "r1",
  });
});

test.each([
  ["insufficient_funds", "failed", "The card does not have enough money."],
  ["lost_card", "failed", "The bank declined the payment."],
  ["authentication_required", "action_required", "The bank wants you to confirm the payment."],
])("a charge that is declined with %s is cancelled, and its status is %s", async (code, status, reason) => {
  const { payments, calls } = await scene(declined(code));
  expect(await payments.charge({ ...input, startedAt: new Date() })).toMatchObject({ status, reason });
  expect(calls()).toEqual(["POST /v1/payment_intents", "POST /v1/payment_intents/pi_1/cancel"]);
});

test("a charge that was begun a day ago is looked up, because Stripe has forgotten its idempotency key", async () => {
  const { payments, calls } = await scene({ status: 500, body: {} }, [intentOf("succeeded")]);
  const startedAt = new Date(Date.now() - 86_400_000);
  expect(await payments.charge({ ...input, startedAt })).toMatchObject({ id: "pi_1", status: "succeeded" });
  expect(calls()).toEqual(["GET /v1/payment_intents"]);
});

test("a card that Stripe does not have fails the charge", async () => {
  const error = {
    type: "invalid_request_error",
    code: "resource_missing",
    param: "payment_method",
    message: "No such",
  };
  const { payments } = await scene({ status: 400, body: { error } });
  const state = await payments.charge({ ...input, startedAt: new Date() });
  expect(state).toMatchObject({ status: "failed", reason: "The card was removed. Save a card again." });
});

test.each([
  ["amount_too_small", "The payment provider does not take an amount this small. Choose a larger amount.", undefined],
  ["amount_too_large", "The payment provider does not take an amount this large. Choose a smaller amount.", undefined],
  ["parameter_unknown", "The payment provider refused the payment.", "parameter_unknown: No."],
])(
  "a charge that Stripe refuses with %s has failed, because no PaymentIntent was made",
  async (code, reason, refusal) => {
    const error = { type: "invalid_request_error", code, message: "No." };
    const { payments, calls } = await scene({ status: 400, body: { error } });
    const state = await payments.charge({ ...input, startedAt: new Date() });
    expect([state.id, state.status, state.reason, state.refusal]).toEqual([undefined, "failed", reason, refusal]);
    expect(calls()).toEqual(["POST /v1/payment_intents"]);
  },
);

test.each([
  [409, { type: "invalid_request_error", code: "idempotency_key_in_use" }],
  [400, { type: "idempotency_error" }],
  [401, { type: "invalid_request_error" }],
  [403, { type: "invalid_request_error" }],
])("an error is thrown if the charge may exist, or may succeed later: %s %j", async (status, error) => {
  const { payments } = await scene({ status, body: { error: { ...error, message: "No." } } });
  await expect(payments.charge({ ...input, startedAt: new Date() })).rejects.toThrow();
});

test("the saved card is read twice at most, because the person on the result page waits", async () => {
  const session = {
    id: "cs_test_1",
    object: "checkout.session",
    mode: "setup",
    status: "complete",
    setup_intent: "seti_1",
    metadata: { account_id: "a1", reference: "r1" },
  };
  const { url, recorded } = await startLoopback(
    ({ path }) => {
      const [status, body] = path.startsWith("/v1/setup_intents/")
        ? [500, { error: { type: "api_error", message: "Oh no" } }]
        : [200, session];
      return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    },
    () => undefined,
  );
  const secret = async () => ({ apiKey: "sk_test_1", webhookSecrets: ["whsec_1"] });
  const payments = stripePayments(secret, { endpoint: new URL(url) });
  await expect(payments.getCardSetup("cs_test_1")).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(recorded.filter(({ path }) => path.startsWith("/v1/setup_intents/seti_1"))).toHaveLength(2);
});
