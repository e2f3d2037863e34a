import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfPlans, listPlans, PlanList } from "../../../shared/billing/prices.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.plans.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/plans" },
  summary: "List the plans and their prices",
  synonyms: ["price", "cost", "how much", "tariff", "package", "compare", "offer", "fee", "per month"],
  description:
    "The prices of each plan: the least charge for a month (`minimum`), and the price of each unit. Shows today's prices and the coming price changes. Prices are without VAT. Also shows the plan of the account, and a plan that begins later.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: PlanList,
  ahead: ({ params }) => aheadOfPlans(params.account_id),
  run: ({ params }, context) => listPlans(params.account_id, context),
});

export const handler = http(route);
