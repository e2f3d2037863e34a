import { expect, test } from "vitest";

import { cardSetup } from "../../../../shared/providers/payments/embedded-cards.ts";
import { billing } from "../../../support/billing.ts";
import { request } from "../../../support/request.ts";
import { enterCard, saveTestCard, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount, testTable } from "../../../support/world.ts";

test("shows null without a card, and a saved card without its full number", async () => {
  const account = await newAccount();
  expect((await billing(account, "GET", "payment-method")).body).toEqual({ payment_method: null });
  await saveTestCard(account);
  const { body } = await billing(account, "GET", "payment-method");
  expect(body.payment_method).toEqual({
    brand: "visa",
    last4: "4242",
    exp_month: 12,
    exp_year: 2099,
    saved_at: expect.stringMatching(/Z$/),
  });
});

test("shows the card of the page that was opened last, and the provider keeps no other card", async () => {
  const account = await newAccount();
  const first = await enterCard(account, "works");
  const second = await enterCard(account, "confirm");
  await tellProduct(second.webhook);
  expect((await cardSetup(testTable(), first.setupId, new Date())).card?.last4).toBe("4242");
  await tellProduct(first.webhook);
  expect((await cardSetup(testTable(), first.setupId, new Date())).card).toBeUndefined();
  const result = `/v1/public/accounts/${account.id}/billing/checkout/result?checkout_token=${first.token}`;
  expect((await request("GET", result)).body).toMatchObject({ status: "expired" });
  await tellProduct(second.webhook);
  const { body } = await billing(account, "GET", "payment-method");
  expect(body.payment_method.last4).toBe("3184");
});
