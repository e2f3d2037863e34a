import * as z from "zod";

import { AuthGroup, listGroups, aheadOfGroups } from "../../../shared/access/groups/group.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/groups" },
  summary: "List groups",
  synonyms: ["teams", "show", "people"],
  description: "The groups of the account, oldest first.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(AuthGroup, "groups").meta({ id: "AuthGroupListResponse", description: "A page of groups." }),
  ahead: ({ params, query }) => aheadOfGroups(params.account_id, query),
  run: async ({ params, query }, context) => ({ ...(await listGroups(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
