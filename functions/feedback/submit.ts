import { AccountParams } from "../../shared/accounts/account.ts";
import { Feedback, NewFeedback } from "../../shared/feedback/feedback.ts";
import { submitFeedback, aheadOfSubmission } from "../../shared/feedback/submit.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "feedback.submit",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/feedback", status: 201 },
  summary: "Submit feedback on the product",
  synonyms: [
    "report",
    "bug",
    "problem",
    "complain",
    "complaint",
    "idea",
    "suggest",
    "feature",
    "request",
    "contact",
    "support",
    "help",
  ],
  description:
    "Tell us about a mistake you found, something you miss, or anything else we should know. People read your feedback. `feedback.list` shows the status and our answer. Webhooks that subscribe to `feedback.updated` are told when the status or the answer changes.",
  capability: null,
  open: "Every member of the account may submit feedback.",
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: NewFeedback,
  output: Feedback,
  ahead: ({ params }, { principal }) => aheadOfSubmission(params.account_id, principal.id),
  run: ({ params, body }, context) => submitFeedback(params.account_id, body, context),
});

export const handler = http(route);
