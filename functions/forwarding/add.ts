import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { addRule } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../shared/mail/forwarding/target.ts";
import { requireOneScope, scopeInBody, scopeMembers } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "forwarding.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/forwarding",
  summary: "Create a forwarding rule",
  description:
    "Sends copies of the mail of a domain, a workspace, or the account when neither is given, to another address. A mailbox of the account gets them at once; anybody else is asked by mail first, with a link and a code. Where that address was written to less than a minute ago, or five times today, no mail goes out, and `forwarding.verification.send` asks later: for all rules of the account that wait for that address then.",
  capability: "forwarding.manage",
  subject: scopeInBody,
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({ target_email: TargetEmail, ...scopeMembers })
    .meta({ id: "ForwardingRuleCreate", description: "A new forwarding rule." }),
  status: 201,
  location: "/v1/public/accounts/{account_id}/forwarding/{id}",
  output: ForwardingRule,
  problems: ["domain_not_ready", "forwarding_exists", "forwarding_loop", "limit_reached"],
  run: ({ params, body, found: scope }, context) => {
    requireOneScope(body);
    return addRule(params.account_id, { scope, target: body.target_email }, context);
  },
});

export const handler = http(route);
