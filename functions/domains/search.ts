import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { searchDomains, searchQuery, SearchResult } from "../../shared/domains/purchase/search.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInQuery } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.search",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/domains/search",
  summary: "Check domain availability for a workspace",
  description:
    "A name, or suggestions for a keyword: 20 results at most, each with its price or why it cannot be bought. What the registry did not answer in time is `unchecked`.",
  capability: "domain.view",
  subject: workspaceInQuery,
  access: "read",
  uses: ["registrar"],
  limit: "search",
  params: AccountParams,
  query: searchQuery,
  output: z
    .object({ items: z.array(SearchResult).meta({ description: "The names, the one that was asked for first." }) })
    .meta({ id: "DomainSearchResponse", description: "Names and how they can be had." }),
  run: async ({ params, query }, context) => ({
    items: await searchDomains(params.account_id, query, context, registrarHere()),
  }),
});

export const handler = http(route);
