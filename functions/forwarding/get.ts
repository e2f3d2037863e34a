import { ForwardingRule, ruleInPath, ruleKind, RuleParams, ruleView } from "../../shared/forwarding/rule.ts";
import { http } from "../../shared/http.ts";
import { defineRoute } from "../../shared/route.ts";

export const route = defineRoute({
  name: "forwarding.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}",
  summary: "Read a forwarding rule",
  capability: "forwarding.view",
  subject: ruleInPath,
  etag: ruleKind,
  access: "read",
  params: RuleParams,
  output: ForwardingRule,
  run: async ({ found }, { now }) => ruleView(found, now()),
});

export const handler = http(route);
