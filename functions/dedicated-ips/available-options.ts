import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { availableOptions, CountryCode, IpOption, aheadOfOptions } from "../../shared/dedicated-ips/options.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.available_options",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dedicated-ips/available-options" },
  summary: "List available managed dedicated IPs",
  synonyms: ["price", "cost", "how much", "address", "buy", "free"],
  description:
    "The options for `dedicated_ips.claim`: the place of the addresses, the price of the first 30 days of an address, and the number of addresses that are left.",
  capability: "ip.view",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    country_code: CountryCode.optional().meta({ description: "Only addresses in this country, ISO 3166-1 alpha-2." }),
  }),
  output: z.array(IpOption).meta({ description: "The options, in the order of their ids." }),
  ahead: ({ params }) => aheadOfOptions(params.account_id),
  run: ({ params, query }, context) => availableOptions(params.account_id, query.country_code, context),
});

export const handler = http(route);
