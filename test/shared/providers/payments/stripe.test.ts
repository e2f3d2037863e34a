import { expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { AmountRefused, type CheckoutInput, type Payments } from "../../../../shared/providers/payments/payments.ts";
import { stripePayments, type StripeOptions } from "../../../../shared/providers/payments/stripe.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { timeoutFor } from "../loopback.ts";
import { startStripe, type StripeService, type Trouble } from "../stripe-service.ts";

const secret = async () => ({ apiKey: "sk_test_1", webhookSecrets: ["whsec_1"] });
const hourMs = 3_600_000;

const input = (given: Partial<CheckoutInput> = {}): CheckoutInput => ({
  reference: "topup-1",
  accountId: "a1",
  amount: 1_250,
  currency: "USD",
  description: "Wallet top-up & more",
  successUrl: "https://app.example.com/done?id={CHECKOUT_SESSION_ID}",
  expiresAt: new Date(Date.now() + hourMs),
  idempotencyKey: "key-1",
  ...given,
});

type Scene = StripeService & { payments: Payments; troubles: Trouble[] };

async function scene(troubles: Trouble[] = [], options: StripeOptions = {}): Promise<Scene> {
  const service = await startStripe(troubles);
  return {
    ...service,
    troubles,
    payments: stripePayments(secret, { endpoint: service.url, timeoutMs: timeoutFor(troubles), ...options }),
  };
}

test("a checkout is a session with one line item, the account and our reference", async () => {
  const { payments, recorded } = await scene();
  const expiresAt = new Date(Date.now() + hourMs);
  const checkout = await payments.createCheckout(input({ expiresAt, cancelUrl: "https://app.example.com/no" }));
  const seconds = Math.floor(expiresAt.getTime() / 1_000);
  expect(checkout).toEqual({
    id: "cs_test_1",
    url: "https://checkout.stripe.com/c/pay/cs_test_1",
    expiresAt: new Date(seconds * 1_000),
  });
  expect(recorded.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /v1/checkout/sessions"]);
  expect(Object.fromEntries(new URLSearchParams(recorded[0]?.body))).toEqual({
    mode: "payment",
    client_reference_id: "topup-1",
    "metadata[account_id]": "a1",
    "metadata[reference]": "topup-1",
    "line_items[0][quantity]": "1",
    "line_items[0][price_data][currency]": "usd",
    "line_items[0][price_data][unit_amount]": "1250",
    "line_items[0][price_data][product_data][name]": "Wallet top-up & more",
    expires_at: String(seconds),
    success_url: "https://app.example.com/done?id={CHECKOUT_SESSION_ID}",
    cancel_url: "https://app.example.com/no",
  });
});

test("every request has the API key, the pinned version and the caller's idempotency key, and no telemetry", async () => {
  const { payments, recorded } = await scene();
  await payments.createCheckout(input());
  await payments.createCheckout(input({ idempotencyKey: "key-2" }));
  expect(recorded).toHaveLength(2);
  for (const [index, { headers }] of recorded.entries()) {
    expect(headers).toMatchObject({
      authorization: "Bearer sk_test_1",
      "stripe-version": "2026-10-28.endive",
      "content-type": "application/x-www-form-urlencoded",
      "idempotency-key": `key-${index + 1}`,
    });
    expect(headers).not.toHaveProperty("x-stripe-client-telemetry");
  }
});

test.each([
  ["at once", 0, 31 * 60],
  ["in a week", 7 * 24 * hourMs, 24 * 3_600 - 60],
])("an expiry %s is moved into the range that Stripe accepts", async (_what, aheadMs, seconds) => {
  const { payments, recorded } = await scene();
  const before = Math.floor(Date.now() / 1_000);
  const { expiresAt } = await payments.createCheckout(input({ expiresAt: new Date(Date.now() + aheadMs) }));
  const after = Math.ceil(Date.now() / 1_000);
  const sent = Number(new URLSearchParams(recorded[0]?.body).get("expires_at"));
  expect(sent).toBeGreaterThanOrEqual(before + seconds);
  expect(sent).toBeLessThanOrEqual(after + seconds);
  expect(expiresAt).toEqual(new Date(sent * 1_000));
});

test("the payer returns to the configured URL if the checkout has none, and one of the two is required", async () => {
  const { payments, recorded } = await scene([], { returnUrl: "https://app.example.com/back" });
  const { successUrl: _, ...without } = input();
  await payments.createCheckout(without);
  expect(new URLSearchParams(recorded[0]?.body).get("success_url")).toBe("https://app.example.com/back");
  await expect((await scene()).payments.createCheckout(without)).rejects.toThrow("PAYMENTS_RETURN_URL");
});

const apiError = { status: 500, error: { type: "api_error", message: "Oh no" } };

test("a request that fails once, gets no answer once or loses its connection once still makes only one checkout", async () => {
  const scenes = await Promise.all([scene([apiError]), scene(["silence"]), scene(["hang-up"])]);
  await Promise.all(
    scenes.map(async ({ payments, recorded, sessions }) => {
      expect(await payments.createCheckout(input())).toMatchObject({ id: "cs_test_1" });
      expect(recorded.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-1", "key-1"]);
      expect(sessions.size).toBe(1);
    }),
  );
});

test("a 503 is thrown after three attempts if Stripe fails, does not answer, answers wrongly or cannot be reached", async () => {
  const nowhere = stripePayments(secret, { endpoint: new URL("http://127.0.0.1:1") });
  const gone = thrownBy(nowhere.getCheckout("cs_test_1"));
  const troubles: Trouble[] = [apiError, "silence", "hang-up", { status: 502, text: "<h1>Bad gateway</h1>" }];
  const scenes = await Promise.all(troubles.map((trouble) => scene([trouble, trouble, trouble])));
  await Promise.all(
    scenes.map(async ({ payments, recorded, sessions }) => {
      const error = await thrownBy(payments.createCheckout(input()));
      expect(error).toMatchObject({ code: "upstream_unavailable", status: 503, extras: { retry_after: 5 } });
      expect(recorded).toHaveLength(3);
      expect(sessions.size).toBe(0);
    }),
  );
  expect(await gone).toMatchObject({ code: "upstream_unavailable" });
});

test.each<[string, Trouble]>([
  ["a rate limit", { status: 429, error: { type: "invalid_request_error", code: "rate_limit" } }],
  ["a wrong answer with 200", { status: 200, text: "<h1>Hello</h1>" }],
  [
    "a failure that Stripe says not to try again",
    { status: 500, error: { type: "api_error" }, headers: { "stripe-should-retry": "false" } },
  ],
])("%s causes a 503 after one attempt", async (_what, trouble) => {
  const { payments, recorded } = await scene([trouble]);
  expect(await thrownBy(payments.createCheckout(input()))).toMatchObject({ code: "upstream_unavailable" });
  expect(recorded).toHaveLength(1);
});

test.each<[string, Trouble, string]>([
  ["a wrong key", { status: 401, error: { type: "invalid_request_error" } }, "StripeAuthenticationError"],
  [
    "a parameter that Stripe does not accept",
    { status: 400, error: { type: "invalid_request_error" } },
    "StripeInvalidRequest",
  ],
  ["a key used for something else", { status: 400, error: { type: "idempotency_error" } }, "StripeIdempotencyError"],
  ["a declined card", { status: 402, error: { type: "card_error", code: "card_declined" } }, "StripeCardError"],
])("%s causes no 503, and is not tried again", async (_what, trouble, type) => {
  const { payments, recorded } = await scene([trouble]);
  const error = await thrownBy(payments.createCheckout(input()));
  expect(error).not.toBeInstanceOf(Problem);
  expect(error).toMatchObject({ type: expect.stringContaining(type) });
  expect(recorded).toHaveLength(1);
});

test.each([
  ["open", "unpaid", "open"],
  ["complete", "unpaid", "processing"],
  ["complete", "paid", "paid"],
  ["expired", "unpaid", "expired"],
])("a session that is %s and %s is %s", async (status, payment_status, expected) => {
  const { payments, sessions } = await scene();
  const { id, expiresAt } = await payments.createCheckout(input());
  Object.assign(sessions.get(id) ?? {}, { status, payment_status });
  expect(await payments.getCheckout(id)).toEqual({
    id,
    status: expected,
    reference: "topup-1",
    accountId: "a1",
    amount: 1_250,
    currency: "USD",
    expiresAt,
    ...(expected === "open" ? { url: "https://checkout.stripe.com/c/pay/cs_test_1" } : {}),
  });
});

test.each(["amount_too_small", "amount_too_large"] as const)(
  "an amount that Stripe refuses throws AmountRefused: %s",
  async (code) => {
    const { payments, sessions } = await scene([{ status: 400, error: { type: "invalid_request_error", code } }]);
    const error = await thrownBy(payments.createCheckout(input()));
    expect(error).toBeInstanceOf(AmountRefused);
    expect(error).toMatchObject({ isTooSmall: code === "amount_too_small" });
    expect(sessions.size).toBe(0);
  },
);

test("`expireCheckout` ends an open session, and does not change other sessions", async () => {
  const { payments, sessions, recorded } = await scene();
  const { id } = await payments.createCheckout(input());
  await payments.expireCheckout(id);
  await payments.expireCheckout(id);
  expect(await payments.getCheckout(id)).toMatchObject({ status: "expired" });
  expect(recorded.filter(({ path }) => path.endsWith("/expire"))).toHaveLength(1);
  Object.assign(sessions.get(id) ?? {}, { status: "complete", payment_status: "paid" });
  await payments.expireCheckout(id);
  expect(await payments.getCheckout(id)).toMatchObject({ status: "paid" });
  expect(await thrownBy(payments.expireCheckout("cs_none"))).toMatchObject({ code: "not_found" });
});

test("`expireCheckout` throws no error if the session is paid at the same moment", async () => {
  const refused = { status: 400, error: { type: "invalid_request_error", message: "Only open sessions expire." } };
  const { payments, sessions, troubles } = await scene();
  const { id } = await payments.createCheckout(input());
  // Stripe answers that the session is open, and then refuses to end it.
  troubles.push({ status: 200, text: JSON.stringify(sessions.get(id)) }, refused);
  expect(await thrownBy(payments.expireCheckout(id))).toBe("nothing");
});

test("a session that does not exist, or that another product made, is `not_found`", async () => {
  const { payments, sessions, recorded } = await scene();
  sessions.set("cs_other", { id: "cs_other", object: "checkout.session", metadata: {} });
  expect(await thrownBy(payments.getCheckout("cs_none"))).toMatchObject({ code: "not_found" });
  expect(await thrownBy(payments.getCheckout("cs_other"))).toMatchObject({ code: "not_found" });
  expect(recorded).toHaveLength(2);
});

test.each(["", "cs_/../customers", "../balance", "cs_a?expand[]=customer", "cs_é"])(
  "%j is not the id of a session, and Stripe is not asked",
  async (id) => {
    const { payments, recorded } = await scene();
    expect(await thrownBy(payments.getCheckout(id))).toMatchObject({ code: "not_found" });
    expect(recorded).toEqual([]);
  },
);

test("a session is asked about at most twice, because a person waits for the answer", async () => {
  const troubles: Trouble[] = ["silence", "hang-up", apiError];
  const scenes = await Promise.all(troubles.map((trouble) => scene([trouble, trouble, trouble])));
  await Promise.all(
    scenes.map(async ({ payments, recorded }) => {
      expect(await thrownBy(payments.getCheckout("cs_test_1"))).toMatchObject({ code: "upstream_unavailable" });
      expect(recorded).toHaveLength(2);
    }),
  );
});

test("a new API key is used from the next request on", async () => {
  const service = await startStripe();
  const keys = ["sk_test_old", "sk_test_old", "sk_test_new"];
  const payments = stripePayments(async () => ({ apiKey: keys.shift() ?? "", webhookSecrets: [] }), {
    endpoint: service.url,
  });
  for (const key of ["1", "2", "3"]) await payments.createCheckout(input({ idempotencyKey: key }));
  const sent = service.recorded.map(({ headers }) => headers.authorization);
  expect(sent).toEqual(["Bearer sk_test_old", "Bearer sk_test_old", "Bearer sk_test_new"]);
});
