import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { aheadOfDomains, domainOrder, domainQuery, listDomains } from "../../shared/domains/list.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains" },
  summary: "List domains",
  synonyms: ["my", "names", "web addresses", "websites", "expire", "show", "which"],
  description:
    "The domains of the account that you may see, oldest first unless you sort them. If you see only a part of the account, the domains are grouped by workspace. The domains of one workspace are in the order in which they came into the workspace. A filter or a sort looks at 20,000 domains at most. A sort of a whole account by `created_at` has no such limit.",
  capability: "domain.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...domainQuery, ...domainOrder }),
  output: pageOf(Domain, "domains").meta({ id: "DomainListResponse", description: "A page of domains." }),
  ahead: ({ params, query }, expected) => aheadOfDomains(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({ ...(await listDomains(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
