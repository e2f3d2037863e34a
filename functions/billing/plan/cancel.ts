import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { cancelPlan, PlanAnswer, aheadOfCancelling } from "../../../shared/billing/plan.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const issueAt = (name: string, message: string) => ({ code: "custom" as const, path: [name], message });

const issuesIfBoth = ["cancel_at_period_end", "cancel_immediately"].map((name) =>
  issueAt(name, "Set only one of cancel_at_period_end and cancel_immediately to true"),
);
const issuesIfNeither = [issueAt("cancel_at_period_end", "Set cancel_at_period_end or cancel_immediately to true")];

export const route = defineRoute({
  name: "billing.plan.cancel",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/billing/cancel-plan" },
  summary: "Cancel the plan",
  synonyms: ["stop", "end", "quit", "paying", "subscription", "contract", "terminate", "leave"],
  description:
    "Cancels the plan at the end of the month, or today with `cancel_immediately`. If you cancel today, the usage up to and including today is invoiced now, and the wallet pays the invoice. Planned changes that begin after the end of the plan are removed. Without a plan, no usage is charged, and no mail is sent. Domain names are still renewed from the wallet, and automatic recharges still charge the saved card: switch them off with `domains.update` (`auto_renew`) and `billing.auto_recharge.update`. Mailboxes, aliases, app passwords, master passwords and dedicated IPs cannot be added (409 `plan_required`). For 30 days after the end of the plan, mail is still received, read and forwarded. After these 30 days, nobody can log in to a mailbox, and nothing is forwarded. Mailboxes still receive mail. Mail to an address that only a forwarding rule takes is refused. Nothing is deleted. Before you cancel, delete the managed dedicated IPs (409 `plan_in_use`). To resume, call `billing.plan.change`.",
  capability: "billing.manage",
  access: "write",
  usesPermissions: true,
  params: AccountParams,
  body: z
    .strictObject({
      cancel_at_period_end: z.boolean().optional().meta({
        description: "Whether the plan ends with the month. The default is true, unless `cancel_immediately` is true.",
      }),
      cancel_immediately: z.boolean().default(false).meta({ description: "Whether the plan ends now." }),
    })
    .superRefine(({ cancel_at_period_end: atEnd, cancel_immediately: isImmediate }, context) => {
      // `atEnd` is undefined if `cancel_at_period_end` is left out. Then both values of `cancel_immediately` are valid.
      if (atEnd !== isImmediate) return;
      for (const issue of atEnd ? issuesIfBoth : issuesIfNeither) context.addIssue(issue);
    })
    .meta({ id: "PlanCancel", description: "When the plan ends: with the month or now." }),
  output: PlanAnswer,
  problems: ["plan_cancelled", "plan_in_use"],
  ahead: ({ params }) => aheadOfCancelling(params.account_id),
  run: ({ params, body }, context) => cancelPlan(params.account_id, body.cancel_immediately, context),
});

export const handler = http(route);
