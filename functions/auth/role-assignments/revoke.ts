import { revoke, aheadOfRevocation } from "../../../shared/access/authorizations.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.role_assignments.revoke",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/role-assignments/{assignment_id}" },
  summary: "Revoke an assigned role",
  synonyms: ["administrator", "admin", "remove", "take away", "access", "permissions", "rights"],
  description:
    "The assignment has no effect from the next request on. If the subject has the role by another assignment or by a group, the subject keeps it.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams.extend({ assignment_id: Id.meta({ description: "The assignment's id." }) }),
  output: Empty,
  ahead: ({ params }) => aheadOfRevocation(params.account_id, params.assignment_id),
  run: async ({ params }, context) => {
    await revoke(params.account_id, params.assignment_id, ["role", "custom_role"], context);
    return {};
  },
});

export const handler = http(route);
