import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { requireFeature } from "../../shared/core/features.ts";
import { searchDomains, searchQuery, SearchResult } from "../../shared/domains/purchase/search.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInQuery } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.search",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains/search" },
  summary: "Check domain availability for a workspace",
  synonyms: ["free", "taken", "find a name", "suggest", "price", "cost", "look up"],
  description:
    "Checks a name, or suggests names for a keyword. There are 20 results at most, each with its price or the reason why the name is not available. If the registry did not answer in time, the reason is `unchecked`.",
  capability: "domain.view",
  subject: workspaceInQuery,
  access: "read",
  lambda: { uses: ["registrar"] },
  limit: "search",
  params: AccountParams,
  query: searchQuery,
  output: z
    .object({
      items: z
        .array(SearchResult)
        .meta({ description: "The names. The name that you asked for is first, if it is among them." }),
    })
    .meta({ id: "DomainSearchResponse", description: "Names and their availability." }),
  problems: ["registrar_unavailable"],
  run: async ({ params, query }, context) => {
    requireFeature("registrar");
    return { items: await searchDomains(params.account_id, query, context, registrarHere()) };
  },
});

export const handler = http(route);
