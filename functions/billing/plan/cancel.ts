import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { cancelPlan, PlanAnswer } from "../../../shared/billing/plan.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const issueAt = (name: string, message: string) => ({ code: "custom" as const, path: [name], message });

const both = ["cancel_at_period_end", "cancel_immediately"].map((name) =>
  issueAt(name, "Say either that it ends with the month or that it ends now, not both"),
);
const neither = [issueAt("cancel_at_period_end", "Say when: at the end of the period or immediately")];

export const route = defineRoute({
  name: "billing.plan.cancel",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/billing/cancel-plan",
  summary: "Cancel the plan",
  description:
    "At the end of the month, or at once: then what was used, this day included, is invoiced now. Without a plan nothing more is charged, and so managed dedicated IPs have to be deleted first.",
  capability: "billing.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({
      cancel_at_period_end: z.boolean().optional().meta({
        description: "Whether it ends with the month: true, unless `cancel_immediately` is.",
      }),
      cancel_immediately: z.boolean().default(false).meta({ description: "Whether it ends now." }),
    })
    .superRefine(({ cancel_at_period_end: atEnd, cancel_immediately: isImmediate }, context) => {
      if (atEnd === isImmediate) for (const issue of atEnd ? both : neither) context.addIssue(issue);
    })
    .meta({ id: "PlanCancel", description: "When to cancel: at the end of the month or at once, not both." }),
  output: PlanAnswer,
  problems: ["plan_cancelled", "plan_in_use"],
  run: ({ params, body }, context) => cancelPlan(params.account_id, body.cancel_immediately, context),
});

export const handler = http(route);
