import { createHmac } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { readPaymentEvent, type Lookups } from "../../../../shared/providers/payments/stripe-objects.ts";
import { loadingOf } from "../lazy-loading.ts";

const secret = "whsec_test";
const now = new Date("2026-03-01T12:00:00Z");
const created = Math.floor(now.getTime() / 1_000) - 10;

const session = (given: Record<string, unknown> = {}) => ({
  id: "cs_test_1",
  object: "checkout.session",
  amount_total: 1_250,
  client_reference_id: "topup-1",
  currency: "usd",
  metadata: { account_id: "a1", reference: "topup-1" },
  mode: "payment",
  payment_status: "paid",
  status: "complete",
  ...given,
});

const bodyOf = (type: string, object: unknown = session()): string =>
  JSON.stringify({ id: "evt_1", object: "event", api_version: "2026-10-28.endive", created, type, data: { object } });

const hmac = (text: string, key = secret): string => createHmac("sha256", key).update(text).digest("hex");

/** Makes a signature header without the code under test. */
function sign(body: string, { at = now, key = secret }: { at?: Date; key?: string } = {}): string {
  const t = Math.floor(at.getTime() / 1_000);
  return `t=${t},v1=${hmac(`${t}.${body}`, key)}`;
}

const lookups: Lookups = {
  cardSetup: () => Promise.reject(new Error("no card")),
  accountOfPayment: async (id) => (id === "pi_ours" ? "a1" : undefined),
  refundsOf: async () => [{ id: "re_1", amount: 500, isFailed: false }],
  accountOfCustomer: async (id) => (id === "cus_ours" ? "a1" : undefined),
};

const read = (body: string, header: string | undefined = sign(body)) =>
  readPaymentEvent(body, header, [secret], now, lookups);
const paid = bodyOf("checkout.session.completed");
const refusal = { code: "malformed_request", status: 400 };

test.each([
  ["checkout.session.completed", "paid", "paid"],
  ["checkout.session.async_payment_succeeded", "paid", "paid"],
  ["checkout.session.async_payment_failed", "unpaid", "failed"],
  ["checkout.session.expired", "unpaid", "expired"],
])("%s of a session that is %s is read as an event of type %s", async (type, payment_status, expected) => {
  expect(await read(bodyOf(type, session({ payment_status })))).toEqual({
    id: "evt_1",
    type: expected,
    checkoutId: "cs_test_1",
    reference: "topup-1",
    accountId: "a1",
    amount: 1_250,
    currency: "USD",
    at: new Date(created * 1_000),
  });
});

test.each([
  ["a complete session whose money has not arrived yet", "unpaid"],
  ["a session that cost nothing", "no_payment_required"],
])("%s does not count as paid", async (_what, payment_status) => {
  expect(await read(bodyOf("checkout.session.completed", session({ payment_status })))).toBeUndefined();
});

test.each([
  ["an event of another type", bodyOf("payment_intent.payment_failed", { id: "pi_1", object: "payment_intent" })],
  ["an event whose type is the name of a member of every object", bodyOf("constructor")],
  ["a session of another product", bodyOf("checkout.session.completed", session({ metadata: {} }))],
  ["a session without metadata", bodyOf("checkout.session.completed", session({ metadata: null }))],
  ["JSON that is not an event", "[]"],
])("%s is ignored", async (_what, body) => {
  expect(await read(body)).toBeUndefined();
});

test.each([
  ["amount", { amount_total: null }],
  ["whole amount", { amount_total: 12.5 }],
  ["amount above zero", { amount_total: 0 }],
  ["currency", { currency: undefined }],
  ["id", { id: "" }],
])(
  "one of our sessions without a valid %s causes an error, so that Stripe sends the event again",
  async (_what, given) => {
    const error: unknown = await read(bodyOf("checkout.session.completed", session(given))).catch((error) => error);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toMatchObject(refusal);
  },
);

test("only the signed body is accepted, and a body with a changed character is refused", async () => {
  const header = sign(paid);
  const change = fc.tuple(fc.nat(paid.length - 1), fc.integer({ min: 1, max: 94 }));
  await fc.assert(
    fc.asyncProperty(change, async ([place, by]) => {
      const other = String.fromCodePoint(32 + ((paid.charCodeAt(place) - 32 + by) % 95));
      await expect(read(paid.slice(0, place) + other + paid.slice(place + 1), header)).rejects.toMatchObject(refusal);
    }),
  );
  await expect(read(`${paid} `, header)).rejects.toMatchObject(refusal);
  await expect(read("", sign(""))).rejects.toMatchObject(refusal);
});

const t = Math.floor(now.getTime() / 1_000);

test.each([
  ["missing", undefined],
  ["empty", ""],
  ["made with another secret", sign(paid, { key: "whsec_other" })],
  ["made with an empty secret", sign(paid, { key: "" })],
  ["without a time", `v1=${hmac(`${t}.${paid}`)}`],
  ["without a `v1`", `t=${t}`],
  ["with another time than the signed time", `t=${t + 1},v1=${hmac(`${t}.${paid}`)}`],
  ["with two times", `t=${t},t=${t},v1=${hmac(`${t}.${paid}`)}`],
  ["with a time that is not a number", `t=x,v1=${hmac(`NaN.${paid}`)}`],
  ["only of the test scheme", `t=${t},v0=${hmac(`${t}.${paid}`)}`],
  ["cut off", sign(paid).slice(0, -1)],
  ["made of the body alone", `t=${t},v1=${hmac(paid)}`],
])("a signature that is %s is refused", async (_what, header) => {
  await expect(readPaymentEvent(paid, header, [secret], now, lookups)).rejects.toMatchObject(refusal);
});

test("a signature is valid if its time is at most 5 minutes in the past or in the future", async () => {
  const signedAgo = (seconds: number) => read(paid, sign(paid, { at: new Date(now.getTime() - seconds * 1_000) }));
  for (const seconds of [0, 299, 300, -299, -300]) expect(await signedAgo(seconds)).toMatchObject({ id: "evt_1" });
  for (const seconds of [301, 86_400, -301, -86_400]) await expect(signedAgo(seconds)).rejects.toMatchObject(refusal);
});

test("one valid signature of two is enough, because Stripe sends two while the endpoint's secret is rotated", async () => {
  const [time, old] = sign(paid, { key: "whsec_old" }).split(",");
  expect(await read(paid, `${time},${old},${sign(paid).split(",")[1]}`)).toMatchObject({ id: "evt_1" });
});

test("a signature with either of two secrets is accepted, so the endpoint's secret can be replaced before or after ours", async () => {
  const reading = (key: string) => readPaymentEvent(paid, sign(paid, { key }), [secret, "whsec_former"], now, lookups);
  for (const key of [secret, "whsec_former"]) expect(await reading(key)).toMatchObject({ id: "evt_1" });
  await expect(reading("whsec_other")).rejects.toMatchObject(refusal);
});

test.each(["not JSON", '{"id":', '{"object":"v2.core.event"}'])("%j is refused even if it is signed", async (body) => {
  await expect(read(body)).rejects.toMatchObject(refusal);
});

test("the error of a refusal shows nothing of the body or the secrets", async () => {
  const error: unknown = await read(paid, sign(paid, { key: "other" })).catch((error: unknown) => error);
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/topup-1|whsec|v1=/);
});

test("the SDK is loaded only at the first webhook with a signature", () => {
  const environment = { PAYMENTS_WEBHOOK_SECRET: "whsec_0123456789" };
  const loading = loadingOf("payments/factory.ts", {
    modules: /\/node_modules\/stripe\/|client-secrets-manager/,
    make: `provider.paymentsOf(provider.PaymentsEnvironment.parse(${JSON.stringify(environment)}))({})`,
    useless: 'made.readEvent("{}", {}, new Date())',
    use: 'made.readEvent("{}", { "stripe-signature": `t=${Math.floor(Date.now() / 1000)},v1=00` }, new Date())',
  });
  expect(loading).toEqual({ before: 0, after: true, failure: "malformed_request" });
});
