import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { CheckoutResult, checkoutResult } from "../../../shared/billing/checkout-result.ts";
import { askingHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const text = z.string().min(1).max(200).nullish();

export const route = defineRoute({
  name: "billing.checkout_result.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/billing/checkout/result",
  summary: "Get the result of a checkout",
  description:
    "For the page a payer comes back to, which asks until the status is no longer `pending`. The token in its address is all it takes. A payment that the provider has not told of is found by this: it is asked, every few seconds at most, and what was paid is credited.",
  capability: null,
  open: "Public: whoever has the checkout's token may know what became of it.",
  public: true,
  access: "read",
  grants: "write",
  uses: ["payments"],
  params: AccountParams,
  query: z.strictObject({
    checkout_token: z
      .string()
      .min(1)
      .max(200)
      .meta({ description: "The token in the address to which the payer comes back from the payment page." }),
    plan_key: text.meta({ description: "The plan that is paid for; taken and not needed." }),
    hosted_page_id: text.meta({ description: "The provider's id of the payment page; taken and not needed." }),
    status_hint: text.meta({ description: "What the provider's redirect said; what it told us itself counts." }),
  }),
  output: CheckoutResult,
  problems: ["not_found"],
  run: ({ params, query }, { table, log }) =>
    checkoutResult(params.account_id, query.checkout_token, table, () => askingHere(log)),
});

export const handler = http(route);
