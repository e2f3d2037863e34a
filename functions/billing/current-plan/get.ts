import { AccountParams } from "../../../shared/accounts/account.ts";
import { CurrentPlan, currentPlan, aheadOfCurrentPlan } from "../../../shared/billing/current-plan.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.current_plan.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/current-plan" },
  summary: "Get the current plan",
  synonyms: ["package", "subscription", "tariff", "contract", "which", "show"],
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: CurrentPlan,
  ahead: ({ params }) => aheadOfCurrentPlan(params.account_id),
  run: ({ params }, context) => currentPlan(params.account_id, context),
});

export const handler = http(route);
