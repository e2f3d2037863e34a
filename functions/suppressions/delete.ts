import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import {
  aheadOfSuppression,
  deleteSuppression,
  SuppressionParams,
} from "../../shared/mail/suppressions/suppression.ts";

export const route = defineRoute({
  name: "suppressions.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/suppressions/{suppression}" },
  summary: "Stop suppressing an address",
  synonyms: ["remove", "unblock", "allow", "send again", "whitelist", "resubscribe", "recipient"],
  description:
    "Mail of the account is sent to the address again. A new hard bounce or complaint suppresses the address again.",
  capability: "suppression.manage",
  access: "write",
  params: SuppressionParams,
  output: Empty,
  ahead: ({ params }) => aheadOfSuppression(params.account_id, params.suppression),
  run: async ({ params }, context) => {
    await deleteSuppression(params.account_id, params.suppression, context);
    return {};
  },
});

export const handler = http(route);
