import {
  ServiceAccountParams,
  revokeServiceAccount,
  aheadOfServiceAccount,
} from "../../../shared/access/service-account.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.revoke",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/service-accounts/{service_account_id}" },
  summary: "Revoke a service account",
  synonyms: ["API key", "token", "delete", "remove", "disable", "leaked", "stolen"],
  description:
    "The service account's tokens are refused from the next request on, and everything that the service account held is revoked. If the service account owns the account, only owners and super admins can revoke it.",
  capability: "auth.manage",
  access: "write",
  params: ServiceAccountParams,
  output: Empty,
  problems: ["would_escalate"],
  ahead: ({ params }) => aheadOfServiceAccount(params.account_id, params.service_account_id),
  run: async ({ params }, context) => {
    await revokeServiceAccount(params.account_id, params.service_account_id, context);
    return {};
  },
});

export const handler = http(route);
