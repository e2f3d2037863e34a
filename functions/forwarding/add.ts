import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { addRule, aheadOfRule } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../shared/mail/forwarding/target.ts";
import { requireOneScope, scopeInBody, scopeMembers } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "forwarding.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/forwarding",
    status: 201,
    location: "/v1/public/accounts/{account_id}/forwarding/{id}",
  },
  summary: "Create a forwarding rule",
  synonyms: ["redirect", "copy", "copies", "new", "send", "mail", "Gmail", "another address", "external"],
  description:
    "Sends copies of the mail of a domain or a workspace to another address. Without a domain or a workspace, the rule copies the mail of the whole account. A target that is a mailbox of the account gets copies at once. Any other recipient gets a mail with a link and a code first, and must agree. An address gets one such mail a minute and five in 24 hours, and an account sends 200 a day. Beyond these limits the rule is created without a mail. Send the mail later with `forwarding.verification.send`. That mail covers all rules of the account that wait for the address.",
  capability: "forwarding.manage",
  subject: scopeInBody,
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({ target_email: TargetEmail, ...scopeMembers })
    .meta({ id: "ForwardingRuleCreate", description: "A new forwarding rule." }),
  output: ForwardingRule,
  problems: ["domain_not_ready", "forwarding_exists", "forwarding_loop", "limit_reached"],
  ahead: (input, expected) => aheadOfRule(input, expected),
  run: ({ params, body, found: scope }, context) => {
    requireOneScope(body);
    return addRule(params.account_id, { scope, target: body.target_email }, context);
  },
});

export const handler = http(route);
