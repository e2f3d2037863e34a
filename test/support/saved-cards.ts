import {
  getStoredCharge,
  returnEventBody,
  returnPayment,
  saveCard,
  savedEventBody,
  testCards,
  type ReturnAct,
} from "../../shared/providers/payments/embedded-cards.ts";
import { readPayment, stripeSignature } from "../../shared/providers/payments/embedded.ts";
import { billing } from "./billing.ts";
import { answerOf, eventOf, handlerOf, type Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** Sends a webhook of the embedded provider to the product. */
export async function tellProduct(body: string): Promise<Answer> {
  const secret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";
  const headers = { "stripe-signature": stripeSignature(body, secret, new Date()) };
  const handler = await handlerOf({ file: "functions/workers/payment-webhook.ts" });
  return answerOf(await handler(eventOf("POST", "/v1/public/webhooks/payments", { body, headers })));
}

/**
 * Saves a test card on the provider's page, and sends no webhook. Returns the body of the webhook, the checkout token,
 * and the provider's id of the page.
 */
export async function enterCard(
  account: Account,
  kind: keyof typeof testCards = "works",
): Promise<{ webhook: string; token: string; setupId: string }> {
  const { body } = await billing(account, "POST", "payment-method-session", {});
  const card = { number: testCards[kind].number, exp_month: 12, exp_year: 2099 };
  const setup = await saveCard(testTable(), body.hosted_page.id, card, new Date());
  if (!setup) throw new Error("The card was not saved.");
  return { webhook: savedEventBody(setup, new Date()), token: body.checkout_token, setupId: setup.id };
}

/** Saves a test card for an account, and sends the provider's webhook. */
export async function saveTestCard(account: Account, kind: keyof typeof testCards = "works"): Promise<void> {
  const { webhook } = await enterCard(account, kind);
  const { status } = await tellProduct(webhook);
  if (status !== 200) throw new Error(`The webhook was answered ${status}.`);
}

/** Refunds or disputes a payment at the provider, and returns the body of the webhook. */
export async function takePaymentBack(paymentId: string, act: ReturnAct): Promise<string> {
  const payment = await readPayment(testTable(), paymentId);
  const returns = payment && (await returnPayment(testTable(), payment, act));
  if (!payment || !returns) throw new Error(`The payment ${paymentId} is not in a state for ${act}.`);
  return returnEventBody(payment, act, returns, new Date());
}

/** The provider's charge of a recharge. */
export const chargeOf = (rechargeId: string) => getStoredCharge(testTable(), `pi_local_${rechargeId}`);
