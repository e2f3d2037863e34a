import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfBilling } from "../../../shared/billing/book.ts";
import { changePlan, PlanAnswer } from "../../../shared/billing/plan.ts";
import { Day } from "../../../shared/core/time.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { PlanId } from "../../../shared/wallet/catalogue.ts";

export const route = defineRoute({
  name: "billing.plan.change",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/billing/change-plan" },
  summary: "Change the plan",
  synonyms: ["upgrade", "downgrade", "switch", "package", "subscription", "tariff", "cheaper", "resume"],
  description:
    "Each day is charged by the plan of that day. A change replaces every planned change that begins on the same day or later. To resume a cancelled plan, change to a plan.",
  capability: "billing.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({
      plan_id: PlanId.meta({ description: "The plan to change to." }),
      effective_date: Day.nullish().meta({ description: "The first day of the plan, in UTC. The default is today." }),
    })
    .meta({ id: "PlanChange", description: "A plan, and its first day." }),
  output: PlanAnswer,
  problems: ["plan_unchanged", "payment_due"],
  ahead: ({ params }) => ({ keys: aheadOfBilling(params.account_id) }),
  run: ({ params, body }, context) =>
    changePlan(params.account_id, body.plan_id, body.effective_date ?? undefined, context),
});

export const handler = http(route);
