import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { retarget, aheadOfRetargeting } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../shared/mail/forwarding/target.ts";

export const route = defineRoute({
  name: "forwarding.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}", etag: ruleKind },
  summary: "Update a forwarding rule",
  synonyms: ["change", "edit", "redirect", "target", "address", "recipient"],
  description:
    "Changes the address that gets the copies. The new recipient must agree first, as for a new rule. Until then the rule sends no copies.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  limit: "outbound",
  params: RuleParams,
  body: z
    .strictObject({ target_email: TargetEmail })
    .meta({ id: "ForwardingRuleUpdate", description: "Changes to a forwarding rule." }),
  output: ForwardingRule,
  problems: ["forwarding_exists", "forwarding_loop"],
  ahead: ({ params, body }, expected) =>
    aheadOfRetargeting(params.account_id, params.forwarding_id, body.target_email, expected),
  run: ({ params, body }, context) => retarget(params.account_id, params.forwarding_id, body.target_email, context),
});

export const handler = http(route);
