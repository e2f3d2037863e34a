import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { listRules, RuleQuery, aheadOfRules } from "../../shared/mail/forwarding/list.ts";
import { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";

export const route = defineRoute({
  name: "forwarding.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/forwarding" },
  summary: "List forwarding rules",
  synonyms: ["redirects", "copies", "where", "mail", "go", "show"],
  description: "Lists the forwarding rules that you may see, oldest first.",
  capability: "forwarding.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: RuleQuery,
  output: pageOf(ForwardingRule, "forwarding rules").meta({
    id: "ForwardingRuleListResponse",
    description: "A page of forwarding rules.",
  }),
  ahead: ({ params, query }, expected) => aheadOfRules(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({ ...(await listRules(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
