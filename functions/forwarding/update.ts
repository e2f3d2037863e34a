import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfUpdate, updateRule } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, ruleKind, RuleParams } from "../../shared/mail/forwarding/rule.ts";
import { givenTargets, targetMembers, targetsFault } from "../../shared/mail/forwarding/target.ts";

export const route = defineRoute({
  name: "forwarding.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}", etag: ruleKind },
  summary: "Update a forwarding rule",
  synonyms: ["change", "edit", "redirect", "target", "address", "recipient", "keep"],
  description:
    "Changes the addresses that get the mail, or whether mailboxes keep it. `target_email` replaces the first target, and `target_emails` all targets. As for a new rule, a new recipient must agree first, unless it is a mailbox of the account that you can see. Until then this recipient gets nothing. A recipient who stays a target need not agree again. A recipient who is removed and later added again must agree again.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  usesPermissions: true,
  limit: "outbound",
  params: RuleParams,
  body: z
    .strictObject({
      ...targetMembers,
      keep_copy: z.boolean().optional().meta({
        description:
          "Whether mailboxes keep the mail that the rule sends on. True is refused for a rule with an `address`.",
      }),
    })
    .superRefine((body, context) => {
      const isEmpty = Object.values(body).every((given) => given === undefined);
      const fault = isEmpty
        ? { path: ["target_email"], message: "Give target_email, target_emails or keep_copy" }
        : targetsFault(body);
      if (fault) context.addIssue({ code: "custom", ...fault });
    })
    .meta({
      id: "ForwardingRuleUpdate",
      description: "Changes to a forwarding rule.",
      examples: [{ target_email: "ada@example.org" }],
    }),
  output: ForwardingRule,
  problems: ["forwarding_exists", "forwarding_loop", "mail_unavailable"],
  ahead: ({ params, body }, expected) =>
    aheadOfUpdate(params.account_id, params.forwarding_id, givenTargets(body).emails, expected),
  run: ({ params, body }, context) => updateRule(params.account_id, params.forwarding_id, body, context),
});

export const handler = http(route);
