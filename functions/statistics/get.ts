import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfStatistics, mailStatistics, Statistics, StatisticsQuery } from "../../shared/mail/statistics.ts";

export const route = defineRoute({
  name: "statistics.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/statistics" },
  summary: "Read the delivery statistics of sent mail",
  synonyms: ["delivered", "bounces", "complaints", "bounce rate", "deliverability", "volume", "sent", "report"],
  description:
    "Returns the mail of one domain or one dedicated IP by day: sent, delivered, deferred, bounced and reported as spam. For the mail of a dedicated IP, you must be able to see the whole account or a domain that sends from this IP.",
  capability: "domain.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: StatisticsQuery,
  output: Statistics,
  ahead: ({ params, query }, expected) => aheadOfStatistics(params.account_id, query, expected),
  run: ({ params, query }, context) => mailStatistics(params.account_id, query, context),
});

export const handler = http(route);
