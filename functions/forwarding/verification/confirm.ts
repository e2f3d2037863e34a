import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { agreeByCode, aheadOfCode } from "../../../shared/mail/forwarding/confirm.ts";
import { ForwardingRule, ruleInPath, RuleParams } from "../../../shared/mail/forwarding/rule.ts";
import { TargetEmail } from "../../../shared/mail/forwarding/target.ts";

const Code = z
  .string()
  .max(20)
  .regex(/^\s*\d{3}[\s-]?\d{3}\s*$/, { error: "Write the six digits of the code" })
  .overwrite((text) => text.replaceAll(/\D/g, ""))
  .meta({ description: "The six digits in the last mail to the recipient.", examples: ["123456"] });

export const route = defineRoute({
  name: "forwarding.verification.confirm",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}/verification/confirm" },
  summary: "Confirm recipient verification",
  synonyms: ["enter", "code", "confirmation", "agree", "accept", "email"],
  description:
    "Confirms the recipient's agreement by a code. The recipient gets the code by mail, and tells it to you. The code is valid for 15 minutes. In the path, give the rule whose `forwarding.add`, `forwarding.update` or `forwarding.verification.send` caused the mail. With any other rule the code fails. The right rule confirms every rule that the mail covers. After five tries even the right code is refused. Send a new code with `forwarding.verification.send`.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  resumes: true,
  limit: "sensitive",
  params: RuleParams,
  body: z
    .strictObject({
      code: Code,
      target_email: TargetEmail.optional().meta({
        description:
          "The target whose recipient got the code. It can be left out if only one target waits for an agreement.",
      }),
    })
    .meta({ id: "ForwardingConfirm", description: "The code from the mail to the recipient." }),
  output: ForwardingRule,
  problems: ["verification_failed", "verification_not_needed"],
  ahead: ({ params, body }, expected) =>
    aheadOfCode(params.account_id, params.forwarding_id, body.target_email, expected),
  run: ({ params, body: { code, target_email: email } }, context) =>
    agreeByCode(params.account_id, params.forwarding_id, { code, email }, context),
});

export const handler = http(route);
