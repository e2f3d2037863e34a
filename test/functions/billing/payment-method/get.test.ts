import { expect, test } from "vitest";

import { billing } from "../../../support/billing.ts";
import { enterCard, saveTestCard, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount } from "../../../support/world.ts";

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

test("shows the card of the page that was opened last, whichever card is reported first", async () => {
  const account = await newAccount();
  const first = await enterCard(account, "works");
  const second = await enterCard(account, "confirm");
  await tellProduct(second.webhook);
  await tellProduct(first.webhook);
  await tellProduct(second.webhook);
  const { body } = await billing(account, "GET", "payment-method");
  expect(body.payment_method.last4).toBe("3184");
});
