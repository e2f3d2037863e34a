import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteRule } from "../../shared/mail/forwarding/remove.ts";
import { ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";

export const route = defineRoute({
  name: "forwarding.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}",
  summary: "Delete a forwarding rule",
  description: "No copies go out from then on, and a link or code that was sent is of no use.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  etag: ruleKind,
  access: "write",
  params: RuleParams,
  output: Empty,
  run: async ({ params }, context) => {
    await deleteRule(params.account_id, params.forwarding_id, context);
    return {};
  },
});

export const handler = http(route);
