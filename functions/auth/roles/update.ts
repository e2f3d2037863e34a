import { aheadOfRoles, Role, RoleParams, RolePatch, updateRole } from "../../../shared/access/roles.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.roles.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/auth/roles/{role}" },
  summary: "Change a role",
  synonyms: ["custom", "edit", "rename", "add", "remove", "permissions", "rights", "capabilities"],
  description:
    "The new capabilities count for everybody who holds the role, from the next request on. You can add only capabilities that you hold yourself, on the whole account and without an end date. The built-in roles cannot be changed.",
  capability: "auth.manage",
  access: "write",
  params: RoleParams,
  body: RolePatch,
  output: Role,
  problems: ["would_escalate", "role_built_in"],
  ahead: ({ params }) => aheadOfRoles(params.account_id),
  run: ({ params, body }, context) => updateRole(params.account_id, params.role, body, context),
});

export const handler = http(route);
