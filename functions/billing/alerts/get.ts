import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfAlerts, Alerts, getAlerts } from "../../../shared/billing/recharges/alerts.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.alerts.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/alerts" },
  summary: "Get the billing alerts",
  synonyms: ["low balance", "threshold", "warning", "notification", "notify", "running out"],
  description: "When the event `billing.wallet.low_balance` is sent, and whether the wallet is low now.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: Alerts,
  ahead: ({ params }) => aheadOfAlerts(params.account_id),
  run: ({ params }, context) => getAlerts(params.account_id, context),
});

export const handler = http(route);
