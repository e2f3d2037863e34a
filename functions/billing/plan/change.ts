import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { changePlan, PlanAnswer } from "../../../shared/billing/plan.ts";
import { Day } from "../../../shared/core/days.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { PlanId } from "../../../shared/wallet/catalogue.ts";

export const route = defineRoute({
  name: "billing.plan.change",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/billing/change-plan",
  summary: "Change the plan",
  description:
    "Each day is charged by the plan it was on. A change to a day that is to come can be replaced by another; a cancelled plan is resumed by changing to one.",
  capability: "billing.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({
      plan_id: PlanId.meta({ description: "The plan to change to." }),
      effective_date: Day.nullish().meta({ description: "The first day on it (UTC); today when it is not given." }),
    })
    .meta({ id: "PlanChange", description: "Which plan, and from when." }),
  output: PlanAnswer,
  problems: ["plan_unchanged", "payment_due"],
  run: ({ params, body }, context) =>
    changePlan(params.account_id, body.plan_id, body.effective_date ?? undefined, context),
});

export const handler = http(route);
