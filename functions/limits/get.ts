import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { accountLimits, aheadOfLimits, Limits } from "../../shared/limits/limits.ts";

export const route = defineRoute({
  name: "limits.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/limits" },
  summary: "Get the limits of the account",
  synonyms: ["how many", "maximum", "quota", "rate", "allowed", "restrictions", "requests per minute", "too many"],
  description:
    "The rate limits of your requests, and the limits on the contents of the account. `used` is how much of a limit on the contents is used. `features` shows what this deployment can do. The limits of single members and some limits on mails are in the descriptions of the functions.",
  capability: "account.view",
  access: "read",
  usesPermissions: true,
  params: AccountParams,
  output: Limits,
  ahead: ({ params }) => aheadOfLimits(params.account_id),
  run: ({ params }, context) => accountLimits(params.account_id, context),
});

export const handler = http(route);
