import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { cancelPlan, PlanAnswer } from "../../../shared/billing/plan.ts";
import { http } from "../../../shared/http.ts";
import { defineRoute } from "../../../shared/route.ts";

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
      cancel_at_period_end: z.boolean().default(true).meta({ description: "Whether it ends with the month." }),
      cancel_immediately: z
        .boolean()
        .default(false)
        .meta({ description: "Whether it ends now; then `cancel_at_period_end` makes no difference." }),
    })
    .refine((body) => body.cancel_at_period_end || body.cancel_immediately, {
      path: ["cancel_at_period_end"],
      error: "Say when: at the end of the period or immediately",
    })
    .meta({ id: "PlanCancel", description: "When to cancel." }),
  output: PlanAnswer,
  problems: ["plan_cancelled", "plan_in_use"],
  run: ({ params, body }, context) => cancelPlan(params.account_id, body.cancel_immediately, context),
});

export const handler = http(route);
