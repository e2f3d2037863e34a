import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { CheckoutResult, checkoutResult } from "../../../shared/billing/checkout-result.ts";
import { askingHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const shortText = z.string().min(1).max(200).nullish();

export const route = defineRoute({
  name: "billing.checkout_result.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/checkout/result" },
  summary: "Get the result of a checkout",
  synonyms: ["payment", "paid", "go through", "successful", "failed", "receipt", "status"],
  description:
    "Returns the result of a checkout. The page to which the payer returns from the payment provider calls this function. Call this function until the status is no longer `pending`. The token in the address of the page is the only credential. If the payment provider has not reported the payment, this call asks the provider, at most once every few seconds, and credits the paid amount.",
  capability: null,
  open: "Public: the checkout's token is the credential.",
  public: true,
  access: "read",
  lambda: { table: "write", uses: ["payments"] },
  params: AccountParams,
  query: z.strictObject({
    checkout_token: z
      .string()
      .min(1)
      .max(200)
      .meta({ description: "The token in the address to which the payer returns from the payment page." }),
    plan_key: shortText.meta({ description: "The plan that is paid for. Accepted, but not used." }),
    hosted_page_id: shortText.meta({ description: "The provider's id of the payment page. Accepted, but not used." }),
    status_hint: shortText.meta({
      description: "The status in the provider's redirect. Accepted, but not used: the provider's own report decides.",
    }),
  }),
  output: CheckoutResult,
  problems: ["not_found"],
  run: ({ params, query }, { table, log }) =>
    checkoutResult(params.account_id, query.checkout_token, table, () => askingHere(log)),
});

export const handler = http(route);
