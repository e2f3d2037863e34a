import { AccountParams } from "../../../shared/accounts/account.ts";
import { revoke } from "../../../shared/auth/authorizations.ts";
import { http } from "../../../shared/http.ts";
import { Id } from "../../../shared/ids.ts";
import { defineRoute, Empty } from "../../../shared/route.ts";

export const route = defineRoute({
  name: "auth.role_assignments.revoke",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/auth/role-assignments/{assignment_id}",
  summary: "Take back an assigned role",
  description: "It holds no longer from the next request on.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams.extend({ assignment_id: Id.meta({ description: "The assignment's id." }) }),
  output: Empty,
  run: async ({ params }, context) => {
    await revoke(params.account_id, params.assignment_id, ["role"], context);
    return {};
  },
});

export const handler = http(route);
