import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { covers } from "../../shared/auth/permissions.ts";
import { orderQuery, pageOf, pageQuery } from "../../shared/core/page.ts";
import { Feedback, FeedbackStatus } from "../../shared/feedback/feedback.ts";
import { aheadOfFeedback, listFeedback } from "../../shared/feedback/list.ts";
import { aheadOfOwnFeedback, listOwnFeedback } from "../../shared/feedback/own.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "feedback.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/feedback" },
  summary: "List the account's feedback with our answers",
  synonyms: ["tickets", "reports", "answer", "reply", "status", "bugs", "ideas", "show"],
  description:
    "The feedback of all members of the account. If you do not have `auth.manage`, you see only your own feedback. The newest comes first, unless you turn the order around. With a filter by `status`, the feedback that got this status last comes first. `status` says how far we are with the feedback, and `admin_notes` is our answer.",
  capability: "account.view",
  access: "read",
  usesPermissions: true,
  params: AccountParams,
  query: z.strictObject({
    status: FeedbackStatus.optional().meta({ description: "Only feedback in this status." }),
    ...pageQuery,
    ...orderQuery("desc"),
  }),
  output: pageOf(Feedback, "feedback").meta({ id: "FeedbackListResponse", description: "A page of feedback." }),
  ahead: ({ params: { account_id: account }, query }, { permissions, principal }) =>
    covers(permissions, "auth.manage", [])
      ? aheadOfFeedback({ account, status: query.status }, query)
      : aheadOfOwnFeedback({ account, status: query.status, submitter: principal.id }, query),
  run: async ({ params, query }, { table, principal, permissions }) => {
    const filter = { account: params.account_id, status: query.status };
    const found = covers(permissions, "auth.manage", [])
      ? await listFeedback(table, filter, query)
      : await listOwnFeedback(table, { ...filter, submitter: principal.id }, query);
    return { ...found, ...query };
  },
});

export const handler = http(route);
