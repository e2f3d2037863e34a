import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../../functions/workers/payment-webhook.ts";
import { checkoutPaths } from "../../../../infra/local/pages/checkout.ts";
import type { Handler } from "../../../../infra/local/server/invoke.ts";
import { clock } from "../../../../shared/core/time.ts";
import { embeddedPayments } from "../../../../shared/providers/payments/embedded.ts";
import type { CheckoutInput } from "../../../../shared/providers/payments/payments.ts";
import { readWallet } from "../../../../shared/wallet/wallet.ts";
import { newAccount, testTable } from "../../../support/world.ts";
import { gatewayFor, sendRequest, type Reply } from "../wire.ts";

const table = testTable();
const webhookSecret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";

const trigger = "POST /v1/public/webhooks/payments";

type Scene = {
  accountId: string;
  path: string;
  get: (headers?: Record<string, string>, query?: string) => Promise<Reply>;
  post: (button: string, form: string) => Promise<Reply>;
  press: (button: string, headers?: Record<string, string>) => Promise<Reply>;
  posted: () => Promise<number>;
};

/** A checkout of a new account, and the gateway with its page and the product's webhook endpoint. */
async function scene(given: Partial<CheckoutInput> = {}, endpoint: Handler = handler): Promise<Scene> {
  const { id: accountId } = await newAccount();
  const port = await gatewayFor({
    functions: [{ name: "payment_webhook", triggers: [trigger], handler: endpoint }],
    localPaths: checkoutPaths({ table, webhookSecret, now: clock }),
  });
  const checkout = await embeddedPayments(table, { webhookSecret, baseUrl: `http://127.0.0.1:${port}` }).createCheckout(
    {
      reference: "topup-1",
      accountId,
      amount: 1_250,
      currency: "USD",
      description: "Wallet <b>top-up</b>",
      successUrl: "https://app.example.com/done?a=1&id={CHECKOUT_SESSION_ID}",
      cancelUrl: "javascript:alert(1)",
      expiresAt: new Date(Date.now() + 3_600_000),
      idempotencyKey: randomUUID(),
      ...given,
    },
  );
  const { pathname: path } = new URL(checkout.url);
  return {
    accountId,
    path,
    get: (headers = {}, query = "") => sendRequest(port, { path: path + query, headers }),
    post: (button, body) =>
      sendRequest(port, {
        path: `${path}/${button}`,
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body,
      }),
    press: (button, headers = {}) => sendRequest(port, { path: `${path}/${button}`, method: "POST", headers }),
    posted: async () => (await readWallet(table, accountId)).posted,
  };
}

const buttonsIn = ({ body }: Reply): string[] =>
  [...body.matchAll(/<button formaction="\/_local\/checkout\/cs_local_\w+\/([\w-]+)">/g)].map(([, name]) => name ?? "");

const outcomesIn = ({ body }: Reply): string[] =>
  [...body.matchAll(/answered (\d+)<pre>\{&quot;received&quot;:true,&quot;outcome&quot;:&quot;(\w+)&quot;\}/g)].map(
    ([, status, outcome]) => `${status} ${outcome}`,
  );

test("the page shows the amount, the payer and the end of the checkout, and runs no given script", async () => {
  const { get, accountId } = await scene();
  const page = await get();
  expect(page.status).toBe(200);
  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  expect(page.body).toContain("12.50 USD");
  expect(page.body).toContain(accountId);
  expect(page.body).toContain("Wallet &lt;b&gt;top-up&lt;/b&gt;");
  expect(page.body).not.toMatch(/<script|<b>|javascript:/);
  expect(buttonsIn(page)).toEqual(["pay", "decline", "pay-twice", "close"]);
});

test("Pay credits the wallet by a webhook, shows the answer of the webhook, and links to the success page", async () => {
  const { press, posted, path } = await scene();
  const page = await press("pay");
  expect(page.status).toBe(200);
  expect(outcomesIn(page)).toEqual(["200 credited"]);
  expect(page.body).toContain(`href="https://app.example.com/done?a=1&amp;id=${path.split("/").at(-1)}"`);
  expect(await posted()).toBe(1_250);
});

test("Pay twice sends one event twice at the same time, and the payment is credited once", async () => {
  const { press, posted } = await scene();
  const page = await press("pay-twice");
  expect(outcomesIn(page).toSorted()).toEqual(["200 credited", "200 known"]);
  expect(new Set(page.body.match(/evt_paid_local_\w+/g)).size).toBe(1);
  expect(await posted()).toBe(1_250);
});

test("Pay late sends the event of a known or an unknown payment, and each payment is credited once", async () => {
  const [paid, closed] = await Promise.all([scene(), scene()]);
  await paid.press("pay");
  expect(outcomesIn(await paid.press("pay-late"))).toEqual(["200 known"]);
  expect(await paid.posted()).toBe(1_250);
  await closed.press("close");
  expect(await closed.posted()).toBe(0);
  expect(buttonsIn(await closed.get())).toEqual(["pay-late"]);
  expect(outcomesIn(await closed.press("pay-late"))).toEqual(["200 credited"]);
  expect(outcomesIn(await closed.press("pay-late"))).toEqual(["200 known"]);
  expect(await closed.posted()).toBe(1_250);
});

test.each(["decline", "close"])("the button %s credits nothing, and Pay is refused afterwards", async (button) => {
  const { press, posted } = await scene();
  expect((await press(button)).body).toContain("answered 200");
  const refused = await press("pay");
  expect(refused.status).toBe(409);
  expect(refused.body).toContain('role="alert"');
  expect(await posted()).toBe(0);
});

test.each<Record<string, string>>([
  { origin: "https://evil.example" },
  { origin: "null" },
  { origin: "http://localhost:1" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "none", origin: "https://evil.example" },
])("a form from another site is refused (%j)", async (headers) => {
  const { press, get, posted } = await scene();
  const refused = await press("pay", headers);
  expect(refused.status).toBe(403);
  expect(buttonsIn(await get())).toContain("pay");
  expect(await posted()).toBe(0);
});

test("a form of the page itself is accepted from browsers with and without the header Sec-Fetch-Site", async () => {
  const [modern, plain] = await Promise.all([scene(), scene()]);
  expect((await modern.press("pay", { "sec-fetch-site": "same-origin", origin: "http://127.0.0.1" })).status).toBe(200);
  const named = { host: "localhost:8080", origin: "http://localhost:8080" };
  expect((await plain.press("pay", named)).status).toBe(200);
});

test("an error of the webhook endpoint is shown", async () => {
  const { press } = await scene({}, async () => {
    throw new Error("boom");
  });
  const page = await press("pay");
  expect(page.status).toBe(200);
  expect(page.body).toContain("answered 500");
  expect(page.body).toContain('role="alert"');
});

test("the page answers JSON to a request for JSON", async () => {
  const { get, press } = await scene();
  const json = { accept: "application/json" };
  expect(JSON.parse((await get(json)).body)).toMatchObject({ checkout: { outcome: "open", amount: 1_250 } });
  const paid = JSON.parse((await press("pay", json)).body);
  expect(paid).toMatchObject({ checkout: { outcome: "paid" }, deliveries: [{ status: 200 }] });
  expect((await press("close", json)).status).toBe(409);
});

test.each(["cs_local_0", `cs_local_${"0".repeat(36)}`, "KEY%231"])("there is no checkout %s", async (id) => {
  const port = await gatewayFor({ localPaths: checkoutPaths({ table, webhookSecret, now: clock }) });
  expect((await sendRequest(port, { path: `/_local/checkout/${id}` })).status).toBe(404);
  expect((await sendRequest(port, { path: `/_local/checkout/${id}/pay`, method: "POST" })).status).toBe(404);
});

/** Sends the form of the page with a card. */
const typed = ({ post }: Scene, number: string, more: Record<string, string> = {}): Promise<Reply> =>
  post("card", new URLSearchParams({ number, expiry: "12/44", cvc: "123", ...more }).toString());

test("a working card pays, and the page then leads to the success page", async () => {
  const one = await scene();
  const paid = await typed(one, "4242 4242 4242 4242");
  expect([paid.status, paid.headers["location"]]).toEqual([303, `${one.path}?paid`]);
  expect(await one.posted()).toBe(1_250);
  const id = one.path.split("/").at(-1);
  const page = await one.get({}, "?paid");
  expect(page.body).toContain(`content="0;url=https://app.example.com/done?a=1&amp;id=${id}"`);
  expect((await one.get()).body).not.toContain("http-equiv");
  expect((await typed(one, "4242 4242 4242 4242")).status).toBe(409);
  expect(await one.posted()).toBe(1_250);
});

test("a card that needs a confirmation pays when the payer confirms, and not before", async () => {
  const one = await scene();
  expect((await typed(one, "4000002760003184")).body).toContain("Your bank asks");
  const refused = await one.post("confirm", "answer=no");
  expect(refused.status).toBe(402);
  expect(refused.body).toContain("You did not confirm the payment");
  expect(await one.posted()).toBe(0);
  expect((await one.post("confirm", "answer=yes")).status).toBe(303);
  expect(await one.posted()).toBe(1_250);
});

test.each([
  ["4000 0000 0000 0002", {}, 402, "Your card was declined"],
  ["4000 0000 0000 0069", {}, 422, "Your card has expired"],
  ["4242 4242 4242 4242", { expiry: "01/20" }, 422, "Your card has expired"],
  ["4242 4242 4242 4242", { expiry: "13/44" }, 422, "month and the year"],
  ["4242 4242 4242 4242", { cvc: "" }, 422, "three or four digits"],
  ["5555 5555 5555 4444", {}, 422, "Only test cards"],
  ["4242", {}, 422, "incomplete"],
  ['"><script>', {}, 422, "incomplete"],
])("the card %j with %j is refused with a reason, and another card still pays", async (number, more, status, why) => {
  const one = await scene();
  const refused = await typed(one, number, more);
  expect(refused.status).toBe(status);
  expect(refused.body).toContain(why);
  expect(refused.body).not.toContain("<script");
  expect(await one.posted()).toBe(0);
  expect((await typed(one, "4242424242424242")).status).toBe(303);
});
