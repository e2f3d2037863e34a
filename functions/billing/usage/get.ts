import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfMonth, Period, MonthUsage, usageOf } from "../../../shared/billing/period.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.usage.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/usage" },
  summary: "Get the usage of a month and its costs",
  synonyms: ["so far", "this month", "cost", "spend", "forecast", "estimate", "next bill", "consumption", "how much"],
  description:
    "The usage of the account on each day of a month, its cost until now, and a forecast of the next invoice. A day is recorded on the next day. Until a day is recorded, its numbers can change, and `final` is false.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    period: Period.optional().meta({
      description: "The month, in UTC. The default is this month.",
      examples: ["2026-11"],
    }),
  }),
  output: MonthUsage,
  ahead: ({ params }) => aheadOfMonth(params.account_id),
  run: ({ params, query }, context) => usageOf(params.account_id, query.period, context),
});

export const handler = http(route);
