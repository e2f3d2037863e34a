import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfChange, changePlan, PlanAnswer, previewPlan } from "../../../shared/billing/plan.ts";
import { DryRun } from "../../../shared/billing/preview.ts";
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
    "Each day is charged by the plan of that day. If the account sent mail today on another plan, the change begins tomorrow at the earliest. A change replaces every planned change that begins on the same day or later. To resume after a cancellation, change to a plan. The plan then begins today. If you cancelled today with `cancel_immediately`, it begins tomorrow. While an invoice is open, the answer is a 409 (`payment_due`). Try the change with `dry_run` first: `preview` in the answer then has the cost of this month and of the next month.",
  capability: "billing.manage",
  access: "write",
  usesPermissions: true,
  params: AccountParams,
  body: z
    .strictObject({
      plan_id: PlanId.meta({ description: "The plan to change to." }),
      effective_date: Day.nullish().meta({
        description:
          "The first day of the plan, in UTC: today or later, and at most 366 days ahead. The default is today. If the account sent mail today on another plan, the default is tomorrow, and today is refused with a 422.",
      }),
      dry_run: DryRun,
    })
    .meta({ id: "PlanChange", description: "A plan, and its first day." }),
  output: PlanAnswer,
  problems: ["plan_unchanged", "payment_due"],
  ahead: ({ params }) => aheadOfChange(params.account_id),
  run: ({ params, body: { plan_id, effective_date, dry_run } }, context) =>
    (dry_run ? previewPlan : changePlan)(params.account_id, plan_id, effective_date ?? undefined, context),
});

export const handler = http(route);
