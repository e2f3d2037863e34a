import { aheadOfRoles, createRole, NewRole, Role } from "../../../shared/access/roles.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.roles.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/roles", status: 201 },
  summary: "Create a role",
  synonyms: ["custom", "own", "new", "add", "make", "define", "permissions", "rights", "bundle", "capabilities"],
  description:
    "A role is a named set of capabilities, for `auth.role_assignments.assign`. You can give it only capabilities that you hold yourself, on the whole account and without an end date. An account can have 50 roles of its own (409 `limit_reached`).",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: NewRole,
  output: Role,
  problems: ["would_escalate", "role_key_taken", "limit_reached"],
  ahead: ({ params }) => aheadOfRoles(params.account_id),
  run: ({ params, body }, context) => createRole(params.account_id, body, context),
});

export const handler = http(route);
