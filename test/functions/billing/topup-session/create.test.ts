import { expect, test } from "vitest";

import { handler as askCheckouts } from "../../../../functions/workers/ask-checkouts.ts";
import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { publicUrl } from "../../../../shared/core/product.ts";
import { getStoredCheckout } from "../../../../shared/providers/payments/embedded.ts";
import { StoredTopup, topupKey } from "../../../../shared/wallet/topup.ts";
import { billing, tellPayment } from "../../../support/billing.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { newAccount, newMember, testTable } from "../../../support/world.ts";

test.each([
  ["50.00", "50.00"],
  ["50", "50.00"],
  ["0.5", "0.50"],
  [12.5, "12.50"],
  [10_000, "10000.00"],
  ["10000.00", "10000.00"],
  [0.51, "0.51"],
])("opens a page for the amount %j", async (amount, shown) => {
  const account = await newAccount();
  const { status, body } = await billing(account, "POST", "topup-session", { amount });
  expect(status).toBe(200);
  expect(body).toMatchObject({ amount: shown, hosted_page: { url: expect.stringMatching(/^http/) } });
});

test("the page can be paid for 23 hours", async () => {
  const account = await newAccount();
  // The provider rounds the end down to a second.
  const before = Math.floor(Date.now() / 1_000) * 1_000;
  const { hosted_page } = (await billing(account, "POST", "topup-session", { amount: "5.00" })).body;
  const opened = Date.parse(hosted_page.expires_at) - 23 * 3_600_000;
  expect(opened).toBeGreaterThanOrEqual(before);
  expect(opened).toBeLessThanOrEqual(Date.now());
});

test.each([
  0,
  "0",
  "0.00",
  -1,
  "-5",
  "+5",
  "12.345",
  12.345,
  "1e3",
  1e21,
  " 5",
  "5 ",
  "5,00",
  "",
  "abc",
  "0x10",
  "007",
  ".5",
  "5.",
  10_000.01,
  "10000.01",
  "99999999999999999999",
  null,
  true,
  ["5"],
  { amount: 5 },
])("refuses the amount %j at its place, and opens no page", async (amount) => {
  const account = await newAccount();
  const before = await storedOf(account);
  const { status, body } = await billing(account, "POST", "topup-session", { amount });
  expect(status).toBe(422);
  expect(body.detail[0].loc.slice(0, 2)).toEqual(["body", "amount"]);
  expect(await storedOf(account)).toEqual(before);
});

test.each([0.01, "0.49"])(
  "refuses %j as too small, as the payment provider does, and opens no page",
  async (amount) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const { status, body } = await billing(account, "POST", "topup-session", { amount });
    expect([status, body.detail?.[0].loc, body.detail?.[0].type]).toEqual([422, ["body", "amount"], "too_small"]);
    expect(await storedOf(account)).toEqual(before);
  },
);

test("the token in the answer is the token in the URLs to which the payer returns", async () => {
  const account = await newAccount();
  const { hosted_page, checkout_token } = (await billing(account, "POST", "topup-session", { amount: 5 })).body;
  const { success_url, cancel_url } = await getStoredCheckout(testTable(), hosted_page.id);
  const page = `${publicUrl()}/checkout?account_id=${account.id}&checkout_token=${checkout_token}`;
  expect([success_url, cancel_url]).toEqual([page, `${page}&status_hint=cancelled`]);
});

test.each(["https://app.example.com/wallet?a=b", "http://localhost:3000/", "https://127.0.0.1/x", null])(
  "accepts the return URL %j",
  async (return_url) => {
    const account = await newAccount();
    expect((await billing(account, "POST", "topup-session", { amount: 5, return_url })).status).toBe(200);
  },
);

test.each([
  [
    "https://evil.example/",
    "The origin https://evil.example is not allowed. Allowed: https://app.example.com, this machine",
  ],
  ["https://app.example.com:8443/", "is not allowed"],
  ["https://app.example.com.evil.example/", "is not allowed"],
  ["https://app.example.com@evil.example/", "credentials"],
  ["https://evil.example\\@app.example.com/", "not a URL"],
  ["https://app.example.com/#/wallet", "fragment"],
  ["https://app.example.com/#", "fragment"],
  ["http://app.example.com/", "must be https"],
  ["javascript:alert(1)", "must be https"],
  ["//app.example.com/", "not a URL"],
  ["/wallet", "not a URL"],
  ["", "not a URL"],
  [" https://app.example.com/", "not a URL"],
  [`https://app.example.com/${"a".repeat(1_000)}`, "longer than 1000"],
])("refuses the return URL %j with a 422 that says why, and opens no page", async (return_url, why) => {
  const account = await newAccount();
  const before = await storedOf(account);
  const { status, body } = await billing(account, "POST", "topup-session", { amount: 5, return_url });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "return_url"]]);
  expect(body.detail[0].msg).toContain(why);
  expect(await storedOf(account)).toEqual(before);
});

test("a missing amount and an unknown member are refused with 422", async () => {
  const account = await newAccount();
  expect((await billing(account, "POST", "topup-session", {})).body.detail[0]).toMatchObject({ type: "missing" });
  const more = await billing(account, "POST", "topup-session", { amount: 5, currency: "EUR" });
  expect(more.body.detail[0]).toMatchObject({ loc: ["body", "currency"], type: "extra_forbidden" });
});

test("a payment on the page is in the wallet once, however often the provider reports it", async () => {
  const account = await newAccount();
  const { hosted_page } = (await billing(account, "POST", "topup-session", { amount: "50.00" })).body;
  const paid = { checkoutId: hosted_page.id, reference: "unknown", cents: 5_000 };
  for (let times = 0; times < 3; times++) expect((await tellPayment(account, paid)).status).toBe(200);
  expect((await billing(account, "GET", "wallet-balance")).body).toMatchObject({ balance: "50.00" });
  expect((await billing(account, "GET", "transactions")).body).toMatchObject({
    total: 1,
    items: [{ type: "topup", direction: "credit", status: "settled", amount: "50.00", balance_after: "50.00" }],
  });
});

test("a suspended account can still top up, and a closed one cannot", async () => {
  const account = await newAccount();
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await billing(account, "POST", "topup-session", { amount: 5 })).status).toBe(200);
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  const { body } = await billing(account, "POST", "topup-session", { amount: 5 });
  expect(body).toMatchObject({ status: 403, code: "account_suspended" });
});

test("a caller with only billing.view cannot top up", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "billing_viewer" });
  const { body } = await billing(account, "POST", "topup-session", { amount: 5 }, viewer);
  expect(body).toMatchObject({ status: 403, required_capability: "billing.manage" });
});

test("the open pages of a closed account are ended, and a payment that arrives anyway is in the wallet once", async () => {
  const account = await newAccount();
  const pages = [];
  for (const amount of ["5.00", "7.00"]) {
    const { body } = await billing(account, "POST", "topup-session", { amount });
    pages.push({ checkoutId: body.hosted_page.id, token: body.checkout_token });
  }
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  await askCheckouts();
  for (const { checkoutId, token } of pages) {
    expect(await getStoredCheckout(testTable(), checkoutId)).toMatchObject({ outcome: "expired" });
    const reference = token.split(".")[0];
    expect(await testTable().get(topupKey(account.id, reference), StoredTopup)).toMatchObject({ status: "expired" });
  }
  const [page = { checkoutId: "", token: "" }] = pages;
  const payment = { checkoutId: page.checkoutId, reference: page.token.split(".")[0] ?? "", cents: 500 };
  for (let times = 0; times < 2; times++) await tellPayment(account, payment);
  const { items } = (await billing(account, "GET", "transactions?type=topup")).body;
  expect(items).toMatchObject([{ type: "topup", amount: "5.00" }]);
});
