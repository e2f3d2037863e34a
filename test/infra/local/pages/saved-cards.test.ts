import { expect, test } from "vitest";

import { handler } from "../../../../functions/workers/payment-webhook.ts";
import { cardPaths } from "../../../../infra/local/pages/saved-cards.ts";
import { clock } from "../../../../shared/core/time.ts";
import { chargeOnce } from "../../../../shared/providers/payments/embedded-cards.ts";
import { billing } from "../../../support/billing.ts";
import { newAccount, testTable } from "../../../support/world.ts";
import { gatewayFor, sendRequest } from "../wire.ts";

const table = testTable();
const webhookSecret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";

const open = () =>
  gatewayFor({
    functions: [{ name: "payment_webhook", triggers: ["POST /v1/public/webhooks/payments"], handler }],
    localPaths: cardPaths({ table, webhookSecret, now: clock }),
  });

const form = { "content-type": "application/x-www-form-urlencoded" };

test("the page saves a card and tells the product, and shows a fault beside a wrong number or expiry", async () => {
  const port = await open();
  const account = await newAccount();
  const { hosted_page } = (await billing(account, "POST", "payment-method-session", {})).body;
  const { pathname: path } = new URL(hosted_page.url);
  const page = await sendRequest(port, { path });
  expect(page.body).toContain("Save card");
  const enter = (body: string) => sendRequest(port, { method: "POST", path, headers: form, body });
  expect((await enter("number=4111&expiry=12%2F99&cvc=123")).body).toContain("number-fault");
  expect((await enter("number=4242424242424242&expiry=soon&cvc=123")).body).toContain("expiry-fault");
  expect((await enter("number=4242424242424242&expiry=01%2F20&cvc=123")).body).toContain("Your card has expired.");
  const saved = await enter("number=4242+4242+4242+4242&expiry=12%2F99&cvc=123");
  expect([saved.status, saved.body.includes("Your card is saved")]).toEqual([200, true]);
  const { body } = await billing(account, "GET", "payment-method");
  expect(body.payment_method).toMatchObject({ last4: "4242", exp_month: 12, exp_year: 2099 });
});

test("a charge that failed is listed, and cannot be taken back", async () => {
  const port = await open();
  const account = await newAccount();
  const reference = account.id;
  const card = { customerId: "c", cardId: "none", currency: "USD", description: "x", startedAt: new Date() };
  // The provider does not have the card, so the charge fails and cannot be taken back.
  await chargeOnce(table, { ...card, reference, accountId: account.id, amount: 100 }, new Date());
  const press = (act: string) =>
    sendRequest(port, { method: "POST", path: `/_local/payments/pi_local_${reference}/${act}`, headers: form });
  expect((await press("refund")).status).toBe(409);
  expect((await sendRequest(port, { path: "/_local/payments" })).body).toContain("failed");
});
