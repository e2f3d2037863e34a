import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { getStoredCheckout, settleCheckout } from "../../../../shared/providers/payments/embedded.ts";
import { topupKey } from "../../../../shared/wallet/topup.ts";
import { newTopup } from "../../../support/billing-examples.ts";
import { billing, tellPayment } from "../../../support/billing.ts";
import { purchase, uniqueName } from "../../../support/domains.ts";
import { masked } from "../../../support/entry-points.ts";
import { pay } from "../../../support/purchases.ts";
import { request, statusesOf } from "../../../support/request.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const resultOf = (accountId: string, token: string, more = "") =>
  request(
    "GET",
    `/v1/public/accounts/${accountId}/billing/checkout/result?checkout_token=${encodeURIComponent(token)}${more}`,
  );

test("needs no credential, and shows the result of the payment once the provider has reported it", async () => {
  const account = await newAccount();
  const { reference, token } = await newTopup(account);
  expect((await resultOf(account.id, token, "&status_hint=success&plan_key=x&hosted_page_id=y")).body).toEqual({
    status: "pending",
    purpose: "topup",
    amount: "50.00",
    message: expect.stringMatching(/\w/),
    account: { account_id: account.id, currency: "USD" },
    checkout_token: token,
    dashboard_url: null,
  });
  await tellPayment(account, { checkoutId: `cs_local_${reference}`, reference, cents: 5_000 });
  expect((await resultOf(account.id, token)).body.status).toBe("paid");
});

test("leads the payer of a purchase to its return URL, and says that the order goes on", async () => {
  const account = await newAccount();
  const refused = await purchase(account, [uniqueName()], { return_url: "https://evil.example/" });
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "return_url"]]);
  const { body } = await purchase(account, [uniqueName()], { return_url: "https://app.example.com/domains" });
  const token = await tokenOf(body.payment_url);
  await pay(account, body.payment_url);
  expect((await resultOf(account.id, token)).body).toMatchObject({
    status: "paid",
    purpose: "purchase",
    message: expect.stringContaining("The order that waited for the payment goes on"),
    dashboard_url: `https://app.example.com/domains?checkout_token=${token}&status=paid`,
  });
});

/** The token in the address to which the payer of a checkout returns. */
async function tokenOf(paymentUrl: string): Promise<string> {
  const { success_url } = await getStoredCheckout(testTable(), paymentUrl.split("/").at(-1) ?? "");
  return new URL(success_url ?? "").searchParams.get("checkout_token") ?? "";
}

/** Opens the checkout of a top-up of 50.00 USD. Returns the id of the checkout, and the token of its result page. */
async function opened(account: Account): Promise<{ checkoutId: string; token: string }> {
  const { hosted_page, checkout_token } = (await billing(account, "POST", "topup-session", { amount: "50.00" })).body;
  return { checkoutId: hosted_page.id, token: checkout_token };
}

test("leads to the return URL of the top-up, with the token and the status in its query", async () => {
  const account = await newAccount();
  const return_url = "https://app.example.com/wallet?tab=1&status=mine";
  const { hosted_page, checkout_token } = (
    await billing(account, "POST", "topup-session", { amount: "12.50", return_url })
  ).body;
  const led = `https://app.example.com/wallet?tab=1&status=pending&checkout_token=${checkout_token}`;
  expect((await resultOf(account.id, checkout_token)).body).toMatchObject({ amount: "12.50", dashboard_url: led });
  const reference = checkout_token.slice(0, 36);
  await tellPayment(account, { checkoutId: hosted_page.id, reference, cents: 1_250 });
  expect((await resultOf(account.id, checkout_token)).body).toMatchObject({
    status: "paid",
    message: "Thank you. 12.50 USD went to your wallet.",
    dashboard_url: led.replace("pending", "paid"),
  });
});

test("finds a payment that no webhook has reported, and credits it once, however many requests poll", async () => {
  const account = await newAccount();
  const { checkoutId, token } = await opened(account);
  expect((await resultOf(account.id, token)).body.status).toBe("pending");
  await settleCheckout(testTable(), checkoutId, "pay", new Date());
  await backdateLastQuestion(account, token);
  const polled = await Promise.all(Array.from({ length: 8 }, () => resultOf(account.id, token)));
  expect(statusesOf(polled)).toEqual(polled.map(() => 200));
  expect((await resultOf(account.id, token)).body.status).toBe("paid");
  const reference = token.slice(0, 36);
  expect((await tellPayment(account, { checkoutId, reference, cents: 5_000 })).body).toMatchObject({
    outcome: "known",
  });
  expect((await billing(account, "GET", "wallet-balance")).body.balance).toBe("50.00");
  expect((await billing(account, "GET", "transactions")).body.total).toBe(1);
});

/** Sets the time of the page's last question to the provider to a minute ago, so that the page asks again. */
async function backdateLastQuestion({ id }: Account, token: string): Promise<void> {
  const asked_at = new Date(Date.now() - 60_000).toISOString();
  await testTable().attempt({ update: topupKey(id, token.slice(0, 36)), set: { asked_at } });
}

test.each(["expired", "async_payment_failed"])(
  "shows a checkout that ended with %s, and then its late payment",
  async (end) => {
    const account = await newAccount();
    const { reference, token } = await newTopup(account);
    const told = { checkoutId: `cs_local_${reference}`, reference, cents: 5_000 };
    await tellPayment(account, told, `checkout.session.${end}`);
    expect((await resultOf(account.id, token)).body.status).toBe(end === "expired" ? "expired" : "failed");
    await tellPayment(account, told);
    expect((await resultOf(account.id, token)).body.status).toBe("paid");
  },
);

test("a wrong token and a token of another account get the same 404", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { reference, token } = await newTopup(account);
  const guesses = [
    resultOf(account.id, `${reference}.${"A".repeat(22)}`),
    resultOf(account.id, `${randomUUID()}.${"A".repeat(22)}`),
    resultOf(account.id, "guess"),
    resultOf(other.id, token),
    resultOf(randomUUID(), token),
  ];
  const answers = await Promise.all(guesses);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  expect(new Set(answers.map(({ body }) => masked(body))).size).toBe(1);
});
