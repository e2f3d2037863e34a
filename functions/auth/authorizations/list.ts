import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { Capability } from "../../../shared/auth/capabilities.ts";
import { Id } from "../../../shared/core/ids.ts";
import { Grant, GrantKind, SubjectType, grantOf } from "../../../shared/grants/assignment.ts";
import { listAssignments, aheadOfAssignments } from "../../../shared/grants/assignments.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.authorizations.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/authorizations" },
  summary: "List grants",
  synonyms: ["who", "access", "permissions", "rights", "allowed", "can", "show", "owners", "users"],
  description: "All grants of the account, oldest first. For assigned roles, use `auth.role_assignments.list`.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    capability_key: Capability.nullish().meta({ description: "Only grants of this capability." }),
    grant_kind: GrantKind.nullish().meta({ description: "Only grants of this kind." }),
    include_revoked: z.boolean().default(false).meta({ description: "Whether revoked grants are included." }),
    subject_id: Id.nullish().meta({ description: "Only grants of this subject." }),
    subject_type: SubjectType.nullish().meta({ description: "Only grants of subjects of this type." }),
  }),
  output: z.array(Grant).meta({ description: "The grants." }),
  ahead: ({ params }) => aheadOfAssignments(params.account_id),
  run: async ({ params, query: { include_revoked, ...filter } }, { table }) => {
    const assignments = await listAssignments(table, params.account_id, include_revoked);
    const grants = assignments.filter(({ kind }) => kind !== "role").map(grantOf);
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined && value !== null);
    return grants.filter((grant) =>
      wanted.every(([name, value]) => Object.entries(grant).some(([key, has]) => key === name && has === value)),
    );
  },
});

export const handler = http(route);
