import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { setActive } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";

export const route = defineRoute({
  name: "forwarding.activate",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}/active",
  summary: "Pause or resume a forwarding rule",
  description: "While it is paused no copies go out. What its recipient agreed to stays.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  etag: ruleKind,
  access: "write",
  params: RuleParams,
  body: z
    .strictObject({ active: z.boolean().meta({ description: "Whether copies go out." }) })
    .meta({ id: "ForwardingRuleActivate", description: "Whether a forwarding rule is switched on." }),
  output: ForwardingRule,
  run: ({ params, body }, context) => setActive(params.account_id, params.forwarding_id, body.active, context),
});

export const handler = http(route);
