import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfSettings, AutoRecharge, getAutoRecharge } from "../../../shared/billing/recharges/auto-recharge.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.auto_recharge.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/auto-recharge" },
  summary: "Get the automatic recharges",
  synonyms: ["auto recharge", "automatic top-up", "auto top up", "refill", "reload", "cap", "limit"],
  description:
    "The settings of the automatic recharges, the number and the sum of the recharges of this month, and the last recharge.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: AutoRecharge,
  ahead: ({ params }) => aheadOfSettings(params.account_id),
  run: ({ params }, context) => getAutoRecharge(params.account_id, context),
});

export const handler = http(route);
