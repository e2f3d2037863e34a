import { AccountParams } from "../../../shared/accounts/account.ts";
import {
  NewPaymentMethod,
  openCardSetup,
  PaymentMethodSession,
} from "../../../shared/billing/recharges/payment-method.ts";
import { paymentsHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.payment_method_session.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/billing/payment-method-session" },
  summary: "Start to save a card",
  synonyms: ["credit card", "add card", "payment method", "card on file", "replace card", "change card"],
  description:
    "Returns the address of the payment provider's page on which a card is saved for automatic recharges. Nothing is charged. A card that is saved there replaces the present card. Saving a card does not switch on automatic recharges: call `billing.auto_recharge.update`.",
  capability: "billing.manage",
  access: "write",
  whileSuspended: true,
  lambda: { uses: ["payments"] },
  limit: "outbound",
  params: AccountParams,
  body: NewPaymentMethod,
  output: PaymentMethodSession,
  problems: ["payments_unavailable", "upstream_unavailable"],
  run: ({ params, body }, context) =>
    openCardSetup(params.account_id, context, paymentsHere(), body.return_url ?? undefined),
});

export const handler = http(route);
