import { expect, test } from "vitest";

import { billing } from "../../../support/billing.ts";
import { request } from "../../../support/request.ts";
import { enterCard, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount } from "../../../support/world.ts";

const resultOf = (id: string, token: string) =>
  request("GET", `/v1/public/accounts/${id}/billing/checkout/result?checkout_token=${token}`);

test("opens a page, and shows the result of the page to a holder of its token without a credential", async () => {
  const account = await newAccount();
  const { status, body } = await billing(account, "POST", "payment-method-session", {
    return_url: "https://app.example.com/wallet",
  });
  expect(status).toBe(200);
  expect(body.hosted_page.url).toMatch(/\/_local\/card\/cs_setup_/);
  expect((await resultOf(account.id, body.checkout_token)).body).toMatchObject({
    status: "pending",
    purpose: "payment_method",
    amount: null,
    dashboard_url: expect.stringContaining("status=pending"),
  });
});

test("the result page finds a card that no webhook has reported", async () => {
  const account = await newAccount();
  const { token, webhook } = await enterCard(account);
  expect((await resultOf(account.id, token)).body).toMatchObject({ status: "paid", message: "Your card is saved." });
  expect((await tellProduct(webhook)).body).toMatchObject({ outcome: "known" });
});

test("a token of another account and a token with a wrong secret get 404", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { token } = await enterCard(account);
  expect((await resultOf(other.id, token)).status).toBe(404);
  expect((await resultOf(account.id, `${token.slice(0, -2)}__`)).status).toBe(404);
});

test("a return URL that is not allowed is refused at its place", async () => {
  const { status, body } = await billing(await newAccount(), "POST", "payment-method-session", {
    return_url: "https://evil.example.net/",
  });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "return_url"]]);
});
