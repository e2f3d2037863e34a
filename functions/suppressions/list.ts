import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { orderQuery, pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  aheadOfSuppressions,
  listSuppressions,
  SuppressedEmail,
  Suppression,
} from "../../shared/mail/suppressions/suppression.ts";

export const route = defineRoute({
  name: "suppressions.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/suppressions" },
  summary: "List suppressed addresses",
  synonyms: ["blocked", "bounces", "complaints", "spam", "unsubscribed", "blacklist", "do not send", "undelivered"],
  description: "Lists the addresses to which no mail of the account is sent, in the order of their addition.",
  capability: "suppression.view",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    ...pageQuery,
    email: SuppressedEmail.optional().meta({ description: "Only the suppression of this address." }),
    ...orderQuery("asc"),
  }),
  output: pageOf(Suppression, "suppressions").meta({
    id: "SuppressionListResponse",
    description: "A page of suppressions.",
  }),
  ahead: ({ params, query }) => aheadOfSuppressions(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listSuppressions(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
