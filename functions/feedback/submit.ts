import { AccountParams } from "../../shared/accounts/account.ts";
import { Feedback, NewFeedback } from "../../shared/feedback/feedback.ts";
import { submitFeedback } from "../../shared/feedback/submit.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "feedback.submit",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/feedback",
  summary: "Submit feedback on the product",
  description:
    "A mistake you found, something you miss, or anything else we should know. People read it; what becomes of it is told by the event `feedback.updated`.",
  capability: null,
  open: "Every member of the account may say what they think.",
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: NewFeedback,
  status: 201,
  output: Feedback,
  run: ({ params, body }, context) => submitFeedback(params.account_id, body, context),
});

export const handler = http(route);
