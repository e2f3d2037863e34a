import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { requestVerification } from "../../../shared/mail/forwarding/manage.ts";
import { ForwardingRule, ruleInPath, RuleParams } from "../../../shared/mail/forwarding/rule.ts";

export const route = defineRoute({
  name: "forwarding.verification.send",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/forwarding/{forwarding_id}/verification/send",
  summary: "Send recipient verification",
  description:
    "Has the recipient asked by mail, or asked again: with a new link, good for 48 hours, and a new code, good for 15 minutes. Those before are of no use from then on. An address gets one such mail a minute and five a day, whoever asks: 429 beyond.",
  capability: "forwarding.manage",
  subject: ruleInPath,
  access: "write",
  limit: "outbound",
  params: RuleParams,
  output: ForwardingRule,
  problems: ["verification_not_needed"],
  run: ({ params }, context) => requestVerification(params.account_id, params.forwarding_id, context),
});

export const handler = http(route);
