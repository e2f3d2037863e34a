import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { retarget } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../shared/mail/forwarding/target.ts";

export const route = defineRoute({
  name: "forwarding.update",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}",
  summary: "Update a forwarding rule",
  description:
    "Sends its copies to another address, which is asked first as for a new rule: until it agrees, none go out.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  etag: ruleKind,
  access: "write",
  limit: "outbound",
  params: RuleParams,
  body: z
    .strictObject({ target_email: TargetEmail })
    .meta({ id: "ForwardingRuleUpdate", description: "What of a forwarding rule changes." }),
  output: ForwardingRule,
  problems: ["forwarding_exists", "forwarding_loop"],
  run: ({ params, body }, context) => retarget(params.account_id, params.forwarding_id, body.target_email, context),
});

export const handler = http(route);
