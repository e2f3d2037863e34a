import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { setActive } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, ruleKind, RuleParams, rules } from "../../shared/mail/forwarding/rule.ts";
import { aheadOfScoped } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "forwarding.activate",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}/active", etag: ruleKind },
  summary: "Pause or resume a forwarding rule",
  synonyms: ["stop", "start", "disable", "enable", "turn off", "turn on", "redirect", "copies", "holiday", "vacation"],
  description:
    "While a rule is paused, it sends no copies, and mailboxes keep their mail. Mail to an address that no mailbox has goes to another matching rule or to the catch-all. If the address has neither, the mail is usually refused. The recipients' agreements stay valid.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  usesPermissions: true,
  params: RuleParams,
  body: z
    .strictObject({ active: z.boolean().meta({ description: "Whether the rule sends copies." }) })
    .meta({ id: "ForwardingRuleActivate", description: "The new state of a forwarding rule." }),
  output: ForwardingRule,
  ahead: ({ params }, expected) => aheadOfScoped(rules, params.account_id, params.forwarding_id, expected),
  run: ({ params, body }, context) => setActive(params.account_id, params.forwarding_id, body.active, context),
});

export const handler = http(route);
