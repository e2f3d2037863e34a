import { AccountParams } from "../../../shared/accounts/account.ts";
import { deletePaymentMethod } from "../../../shared/billing/recharges/auto-recharge.ts";
import { aheadOfMethod } from "../../../shared/billing/recharges/payment-method.ts";
import { paymentsHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.payment_method.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/billing/payment-method" },
  summary: "Delete the saved card",
  synonyms: ["remove", "forget", "credit card", "payment method", "card on file", "detach"],
  description: "Removes the card here and at the payment provider, and switches off automatic recharges.",
  capability: "billing.manage",
  access: "write",
  whileSuspended: true,
  lambda: { uses: ["payments"] },
  limit: "outbound",
  params: AccountParams,
  output: Empty,
  problems: ["upstream_unavailable", "payments_unavailable"],
  ahead: ({ params }) => aheadOfMethod(params.account_id),
  run: async ({ params }, context) => {
    await deletePaymentMethod(params.account_id, context, paymentsHere().payments);
    return {};
  },
});

export const handler = http(route);
