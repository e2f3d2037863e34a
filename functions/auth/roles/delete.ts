import { aheadOfRoles, deleteRole, RoleParams } from "../../../shared/access/roles.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.roles.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/roles/{role}" },
  summary: "Delete a role",
  synonyms: ["custom", "remove", "drop", "permissions", "rights"],
  description:
    "Only a role that is not assigned can be deleted: revoke its assignments first (409 `role_in_use`). Pending invitations no longer give the role. The roles that every account has cannot be deleted.",
  capability: "auth.manage",
  access: "write",
  params: RoleParams,
  output: Empty,
  problems: ["role_built_in", "role_in_use"],
  ahead: ({ params }) => aheadOfRoles(params.account_id),
  run: async ({ params }, context) => {
    await deleteRole(params.account_id, params.role, context);
    return {};
  },
});

export const handler = http(route);
