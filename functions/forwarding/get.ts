import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  ForwardingRule,
  ruleInPath,
  ruleKind,
  RuleParams,
  ruleView,
  rules,
} from "../../shared/mail/forwarding/rule.ts";
import { aheadOfScoped } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "forwarding.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}", etag: ruleKind },
  summary: "Read a forwarding rule",
  synonyms: ["redirect", "copies", "show", "details", "status"],
  capability: "forwarding.view",
  subject: ruleInPath,
  access: "read",
  params: RuleParams,
  output: ForwardingRule,
  ahead: ({ params }, expected) => aheadOfScoped(rules, params.account_id, params.forwarding_id, expected),
  run: async ({ found }, { now }) => ruleView(found, now()),
});

export const handler = http(route);
