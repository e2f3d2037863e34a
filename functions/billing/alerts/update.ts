import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfAlerts, Alerts, AlertsUpdate, updateAlerts } from "../../../shared/billing/recharges/alerts.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.alerts.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/billing/alerts" },
  summary: "Change the billing alerts",
  synonyms: ["low balance", "threshold", "warning", "notification", "notify", "running out"],
  description: "Sets the threshold of the low balance. With null, the threshold is the cost of seven days of usage.",
  capability: "billing.manage",
  access: "write",
  whileSuspended: true,
  params: AccountParams,
  body: AlertsUpdate,
  output: Alerts,
  ahead: ({ params }) => aheadOfAlerts(params.account_id),
  run: ({ params, body }, context) => updateAlerts(params.account_id, body, context),
});

export const handler = http(route);
