import { randomUUID } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/payment-webhook.ts";
import { buildEvent, collectHeaders, parseTarget } from "../../../infra/local/server/event.ts";
import { stripeSignature } from "../../../shared/providers/payments/embedded.ts";
import { readWallet } from "../../../shared/wallet/wallet.ts";
import { answerOf } from "../../support/request.ts";
import { newAccount, testTable } from "../../support/world.ts";

const path = "/v1/public/webhooks/payments";
const secret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";

type Sent = { body: string | Buffer; headers?: Record<string, string> };

function eventOf({ body, headers = {} }: Sent): APIGatewayProxyEventV2 {
  const all = { host: "127.0.0.1", "content-type": "application/json; charset=utf-8", ...headers };
  const wire = { httpVersion: "1.1", sourceIp: "127.0.0.1", port: 8080, body: Buffer.from(body) };
  const request = { ...wire, method: "POST", headers: collectHeaders(Object.entries(all).flat()) };
  return buildEvent(request, parseTarget(path), { routeKey: `POST ${path}`, pathParameters: {} }, new Date());
}

const post = async (sent: Sent) => answerOf(await handler(eventOf(sent)));

const signed = (body: string, { key = secret, at = new Date() } = {}): Sent => ({
  body,
  headers: { "stripe-signature": stripeSignature(body, key, at) },
});

/** An event about a checkout of an account, in the form that Stripe sends. */
function paymentOf(accountId: string, given: { type?: string; session?: object; eventId?: string } = {}): string {
  const { type = "checkout.session.completed", session = {}, eventId = `evt_${randomUUID()}` } = given;
  const object = {
    id: "cs_test_1",
    object: "checkout.session",
    amount_total: 1_250,
    currency: "usd",
    metadata: { account_id: accountId, reference: "topup-1" },
    payment_status: type.endsWith("completed") ? "paid" : "unpaid",
    ...session,
  };
  return JSON.stringify({ id: eventId, object: "event", created: 1_770_000_000, type, data: { object } });
}

const postedTo = async (accountId: string): Promise<number> => (await readWallet(testTable(), accountId)).posted;

test("a payment is credited, and the answer has the security headers", async () => {
  const { id } = await newAccount();
  const answer = await post(signed(paymentOf(id)));
  expect(answer).toMatchObject({ status: 200, body: { received: true, outcome: "credited" } });
  expect(answer.headers).toMatchObject({
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": expect.any(String),
  });
  expect(await postedTo(id)).toBe(1_250);
});

test("a payment that is reported several times, at the same time and later, is credited once, and each report gets 200", async () => {
  const { id } = await newAccount();
  const body = paymentOf(id);
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(signed(body))));
  answers.push(await post(signed(body)), await post(signed(paymentOf(id, { eventId: "evt_other" }))));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers.map(({ body }) => body.outcome).filter((outcome) => outcome === "credited")).toHaveLength(1);
  expect(await postedTo(id)).toBe(1_250);
});

test("a payment is credited once, even if its checkout is first reported as expired and later as failed", async () => {
  const { id } = await newAccount();
  for (const type of ["expired", "completed", "async_payment_failed"]) {
    expect((await post(signed(paymentOf(id, { type: `checkout.session.${type}` })))).status).toBe(200);
  }
  expect(await postedTo(id)).toBe(1_250);
});

test.each([
  ["of another kind", { type: "customer.created" }],
  ["about a payment that is not paid yet", { session: { payment_status: "unpaid" } }],
  ["about a checkout without an account's id", { session: { metadata: {} } }],
])("an event %s is accepted, and credits nothing", async (_what, given) => {
  const { id } = await newAccount();
  const answer = await post(signed(paymentOf(id, given)));
  expect(answer).toMatchObject({ status: 200, body: { outcome: "ignored" } });
  expect(await postedTo(id)).toBe(0);
});

test("forged, tampered, stale and unsigned webhooks are 400 and credit nothing", async () => {
  const { id } = await newAccount();
  const body = paymentOf(id);
  const sixMinutesMs = 360_000;
  const refused: Sent[] = [
    { body },
    signed(body, { key: "whsec_of_somebody_else" }),
    { ...signed(body), body: body.replace("1250", "9250") },
    signed(body, { at: new Date(Date.now() - sixMinutesMs) }),
    signed(body, { at: new Date(Date.now() + sixMinutesMs) }),
    { body: "", headers: { "stripe-signature": stripeSignature("", secret, new Date()) } },
    signed("not JSON"),
  ];
  for (const sent of refused) {
    const answer = await post(sent);
    expect(answer).toMatchObject({ status: 400, body: { code: "malformed_request" } });
    expect(answer.text).not.toMatch(/whsec|v1=/);
  }
  expect(await postedTo(id)).toBe(0);
});

test("a body is verified by its bytes, also when the gateway hands it on in base64", async () => {
  const { id } = await newAccount();
  const sent = signed(paymentOf(id, { session: { customer: "Zoë 🎉" } }));
  const event = eventOf({ ...sent, headers: { ...sent.headers, "content-type": "application/octet-stream" } });
  expect(event.isBase64Encoded).toBe(true);
  expect(answerOf(await handler(event))).toMatchObject({ status: 200, body: { outcome: "credited" } });
  expect(await postedTo(id)).toBe(1_250);
});

test("a body of 256 KiB is read, and a longer one is refused with 413, as text and in base64", async () => {
  const filled = (bytes: number): string => {
    const body = paymentOf("a1", { type: "customer.created" });
    return body.padEnd(bytes);
  };
  const [fitting, longer] = [signed(filled(262_144)), signed(filled(262_145))];
  for (const type of ["application/json", "application/octet-stream"]) {
    const as = ({ body, headers }: Sent) => post({ body, headers: { ...headers, "content-type": type } });
    expect(await as(fitting)).toMatchObject({ status: 200, body: { outcome: "ignored" } });
    const refused = { status: 413, body: { code: "body_too_large", limit_bytes: 262_144 } };
    expect(await as(longer)).toMatchObject(refused);
  }
});

test("a genuine event that cannot be handled gets 503, so that the provider sends the event again", async () => {
  const { id } = await newAccount();
  const answer = await post(signed(paymentOf(id, { session: { amount_total: null } })));
  expect(answer).toMatchObject({ status: 503, body: { code: "upstream_unavailable" } });
  expect(answer.headers["retry-after"]).toBe("30");
  expect(answer.text).not.toMatch(/amount_total|topup-1/);
});
