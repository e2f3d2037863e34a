import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { RoleKey } from "../../../shared/auth/capabilities.ts";
import { Id } from "../../../shared/core/ids.ts";
import { RoleAssignment, SubjectType, roleAssignmentOf } from "../../../shared/grants/assignment.ts";
import { listAssignments, aheadOfAssignments } from "../../../shared/grants/assignments.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.role_assignments.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/role-assignments" },
  summary: "List assigned roles",
  synonyms: ["who", "administrators", "admins", "roles", "access", "permissions", "rights", "show"],
  description: "All roles assigned in the account, oldest first.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    include_revoked: z.boolean().default(false).meta({ description: "Whether revoked assignments are included." }),
    role_key: RoleKey.nullish().meta({ description: "Only assignments of this role." }),
    subject_id: Id.nullish().meta({ description: "Only assignments to this subject." }),
    subject_type: SubjectType.nullish().meta({ description: "Only assignments to subjects of this type." }),
  }),
  output: z.array(RoleAssignment).meta({ description: "The assignments." }),
  ahead: ({ params }) => aheadOfAssignments(params.account_id),
  run: async ({ params, query }, { table }) => {
    const assignments = await listAssignments(table, params.account_id, query.include_revoked);
    return assignments
      .filter(({ kind }) => kind === "role")
      .map(roleAssignmentOf)
      .filter(
        (assignment) =>
          (query.role_key ?? assignment.role_key) === assignment.role_key &&
          (query.subject_id ?? assignment.subject_id) === assignment.subject_id &&
          (query.subject_type ?? assignment.subject_type) === assignment.subject_type,
      );
  },
});

export const handler = http(route);
