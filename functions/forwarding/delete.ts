import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteRule, aheadOfRuleRemoval } from "../../shared/mail/forwarding/remove.ts";
import { ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";

export const route = defineRoute({
  name: "forwarding.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}", etag: ruleKind },
  summary: "Delete a forwarding rule",
  synonyms: ["remove", "stop", "end", "redirect", "copies"],
  description:
    "Deletes the rule and the grants on it. The rule sends no more copies. A link or code that was sent for the rule stops working. Mail to an address that no mailbox has goes to another matching rule or to the catch-all. If the address has neither, the mail is usually refused.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  params: RuleParams,
  output: Empty,
  ahead: ({ params }, expected) => aheadOfRuleRemoval(params.account_id, params.forwarding_id, expected),
  run: async ({ params }, context) => {
    await deleteRule(params.account_id, params.forwarding_id, context);
    return {};
  },
});

export const handler = http(route);
