import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { requestVerification, aheadOfRequest } from "../../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, RuleParams } from "../../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../../shared/mail/forwarding/target.ts";

export const route = defineRoute({
  name: "forwarding.verification.send",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}/verification/send" },
  summary: "Send recipient verification",
  synonyms: ["resend", "again", "confirmation", "email", "code", "link", "invite"],
  description:
    "Sends a mail to all recipients of the rule who have not agreed, or to one of them. The mail asks the recipient to agree. It has a new link, valid for 48 hours, and a new code, valid for 15 minutes. The earlier link and code of this recipient for this rule stop working. An address gets one of these mails a minute and five in 24 hours, from all accounts together. An account sends 200 of them on a UTC day, and 40 of these to the addresses of one domain. Invitation mails count toward the same limits. Recipients beyond these limits get no mail. If these limits leave no mail to send, the answer is 429.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  limit: "outbound",
  params: RuleParams,
  body: z
    .strictObject({
      target_email: TargetEmail.optional().meta({
        description: "The target to ask. Without it, all targets that have not agreed are asked.",
      }),
    })
    .meta({ id: "ForwardingVerificationSend", description: "The recipient to ask." }),
  output: ForwardingRule,
  problems: ["mail_unavailable", "verification_not_needed"],
  ahead: ({ params }, expected) => aheadOfRequest(params.account_id, params.forwarding_id, expected),
  run: ({ params, body }, context) =>
    requestVerification(params.account_id, params.forwarding_id, body.target_email, context),
});

export const handler = http(route);
