import * as z from "zod";

import { aheadOfRoles, listRoles, Role } from "../../../shared/access/roles.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.roles.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/roles" },
  summary: "List roles",
  synonyms: ["which", "what", "kinds", "permissions", "rights", "capabilities", "bundles", "show", "custom"],
  description:
    "The roles that can be assigned, with their capabilities: first the roles that every account has, then the account's own roles, oldest first. `auth.role_assignments.list` lists the holders of roles.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Role, "roles").meta({ id: "RoleListResponse", description: "A page of roles." }),
  ahead: ({ params }) => aheadOfRoles(params.account_id),
  run: async ({ params, query }, context) => ({ ...(await listRoles(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
