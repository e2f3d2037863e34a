import { AccountParams } from "../../../shared/accounts/account.ts";
import {
  aheadOfMethod,
  getPaymentMethod,
  PaymentMethodAnswer,
} from "../../../shared/billing/recharges/payment-method.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.payment_method.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/payment-method" },
  summary: "Get the saved card",
  synonyms: ["credit card", "payment method", "card on file", "expiry", "expires", "visa", "mastercard"],
  description: "The card that automatic recharges are charged to. Only the payment provider knows its number.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: PaymentMethodAnswer,
  ahead: ({ params }) => aheadOfMethod(params.account_id),
  run: ({ params }, context) => getPaymentMethod(params.account_id, context),
});

export const handler = http(route);
