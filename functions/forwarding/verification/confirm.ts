import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { agreeByCode, aheadOfCode } from "../../../shared/mail/forwarding/confirm.ts";
import { ForwardingRule, ruleInPath, RuleParams } from "../../../shared/mail/forwarding/rule.ts";

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
    "Confirms that the recipient agrees, by the code in the mail to them. The recipient tells you the code. A code confirms every rule that the mail covers. After five tries a code stops working, even the right one. Send a new code with `forwarding.verification.send`.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  resumes: true,
  limit: "sensitive",
  params: RuleParams,
  body: z
    .strictObject({ code: Code })
    .meta({ id: "ForwardingConfirm", description: "The code from the mail to the recipient." }),
  output: ForwardingRule,
  problems: ["verification_failed", "verification_not_needed"],
  ahead: ({ params }, expected) => aheadOfCode(params.account_id, params.forwarding_id, expected),
  run: ({ params, body }, context) => agreeByCode(params.account_id, params.forwarding_id, body.code, context),
});

export const handler = http(route);
