import { revoke, aheadOfRevocation } from "../../../shared/access/authorizations.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.authorizations.revoke",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/authorizations/{grant_id}" },
  summary: "Revoke a grant",
  synonyms: ["take away", "remove", "access", "permission", "rights", "forbid", "someone", "owner"],
  description:
    "The grant has no effect from the next request on. Other grants, roles and groups of the subject stay. Only owners and super admins can revoke ownership, and only super admins can revoke the grant `super_admin`. At least one user must have an ownership without an end date. The last of these ownerships cannot be revoked (409 `last_owner`).",
  capability: "auth.manage",
  access: "write",
  params: AccountParams.extend({ grant_id: Id.meta({ description: "The grant's id." }) }),
  output: Empty,
  problems: ["would_escalate", "last_owner"],
  ahead: ({ params }) => aheadOfRevocation(params.account_id, params.grant_id),
  run: async ({ params }, context) => {
    await revoke(params.account_id, params.grant_id, ["capability", "account_owner", "super_admin"], context);
    return {};
  },
});

export const handler = http(route);
