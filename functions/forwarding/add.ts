import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { addRule, aheadOfRule } from "../../shared/mail/forwarding/manage.ts";
import { ForwardingRule } from "../../shared/mail/forwarding/rule.ts";
import { ruleScopeInBody, ruleScopeMembers, scopeFault } from "../../shared/mail/forwarding/scope.ts";
import { givenTargets, targetMembers, targetsFault } from "../../shared/mail/forwarding/target.ts";

export const route = defineRoute({
  name: "forwarding.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/forwarding",
    status: 201,
    location: "/v1/public/accounts/{account_id}/forwarding/{id}",
  },
  summary: "Create a forwarding rule",
  synonyms: ["redirect", "copy", "copies", "new", "send", "mail", "Gmail", "another address", "external", "alias"],
  description:
    "Sends the mail of a domain, a workspace or a mailbox to other addresses. Mailboxes keep their mail, unless `keep_copy` is false. With `address`, the rule gets the mail to addresses that no mailbox has. The catch-all gets this mail only while no target can get it. Without a scope, the rule is for the mail of the whole account. A target that is a mailbox of the account gets copies at once, if you may see this mailbox. Any other recipient gets a mail with a link and a code first, and must agree. If you may see all mailboxes of a proved domain of the account, a target in this domain is refused with 422 if no mailbox receives its mail. A target that the account has suppressed gets no copies. A scope has 20 rules at most, and an account has 1,000. The mails with a link have limits. An address gets one a minute and five in 24 hours, from all accounts together. An account sends 200 on a UTC day, and 40 of them to the addresses of one domain. Invitation mails count toward the same limits. Beyond these limits the rule is created without a mail. Send the mail later with `forwarding.verification.send`. The later mail covers up to 100 rules of the account that wait for the address.",
  capability: "forwarding.manage",
  subject: ruleScopeInBody,
  access: "write",
  usesPermissions: true,
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({
      ...targetMembers,
      ...ruleScopeMembers,
      keep_copy: z.boolean().optional().meta({
        description:
          "Whether mailboxes keep the mail that the rule sends on. The default is true. With false, a mailbox still keeps its mail while no target can get the mail. Addresses without a mailbox keep nothing.",
      }),
    })
    .superRefine((body, context) => {
      const isWithoutTarget = body.target_email === undefined && body.target_emails === undefined;
      const missing = { path: ["target_email"], message: "Give target_email or target_emails" };
      const unkept = { path: ["keep_copy"], message: "No mailbox has the address, so no mailbox can keep the mail" };
      const faults = [
        isWithoutTarget ? missing : undefined,
        targetsFault(body),
        scopeFault(body),
        body.keep_copy === true && body.address !== undefined ? unkept : undefined,
      ];
      for (const fault of faults) if (fault) context.addIssue({ code: "custom", ...fault });
    })
    .meta({
      id: "ForwardingRuleCreate",
      description: "A new forwarding rule.",
      examples: [{ target_email: "ada@example.org", mailbox: "ada@example.com" }],
    }),
  output: ForwardingRule,
  problems: [
    "address_taken",
    "domain_not_ready",
    "forwarding_exists",
    "forwarding_loop",
    "limit_reached",
    "mail_unavailable",
  ],
  ahead: (input, expected) => aheadOfRule(input, givenTargets(input.body), expected),
  run: ({ params, body, found: place }, context) =>
    addRule(params.account_id, { place, given: givenTargets(body), keepCopy: body.keep_copy ?? true }, context),
});

export const handler = http(route);
