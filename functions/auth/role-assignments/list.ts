import * as z from "zod";

import { aheadWithNames, readDirectory, subjectMembers, withSubjects } from "../../../shared/access/members.ts";
import { CustomRoleKey } from "../../../shared/access/roles.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { rolesOf } from "../../../shared/accounts/standing.ts";
import { Id } from "../../../shared/core/ids.ts";
import { requireAnswerable } from "../../../shared/core/page.ts";
import { isOfRole, RoleAssignment, SubjectType, roleAssignmentOf } from "../../../shared/grants/assignment.ts";
import { listAssignments, aheadOfAssignments } from "../../../shared/grants/assignments.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const ListedRoleAssignment = RoleAssignment.extend(subjectMembers).meta({
  id: "ListedRoleAssignment",
  description: "A role that a subject holds in an account, with the subject's name.",
});

export const route = defineRoute({
  name: "auth.role_assignments.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/role-assignments" },
  summary: "List assigned roles",
  synonyms: ["who", "administrators", "admins", "roles", "access", "permissions", "rights", "show"],
  description:
    "All roles assigned in the account, oldest first. If the assignments are too large for an answer, the answer is a 422 (`too_many`): choose a `subject_id`.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    include_revoked: z
      .boolean()
      .default(false)
      .meta({ description: "Whether assignments that were revoked or have ended in the last 400 days are included." }),
    role_key: CustomRoleKey.nullish().meta({ description: "Only assignments of this role." }),
    subject_id: Id.nullish().meta({ description: "Only assignments to this subject." }),
    subject_type: SubjectType.nullish().meta({ description: "Only assignments to subjects of this type." }),
  }),
  output: z.array(ListedRoleAssignment).meta({ description: "The assignments." }),
  ahead: ({ params }) => aheadWithNames(params.account_id, aheadOfAssignments(params.account_id)),
  run: async ({ params, query }, { table, now }) => {
    const [assignments, directory] = await Promise.all([
      listAssignments(table, params.account_id, query.include_revoked, now()),
      readDirectory(table, params.account_id),
    ]);
    const ofRoles = assignments.filter(isOfRole);
    const ownRoles = await rolesOf(table, params.account_id, ofRoles);
    const matching = ofRoles
      .map((assignment) => roleAssignmentOf(assignment, ownRoles))
      .filter(
        (assignment) =>
          (query.role_key ?? assignment.role_key) === assignment.role_key &&
          (query.subject_id ?? assignment.subject_id) === assignment.subject_id &&
          (query.subject_type ?? assignment.subject_type) === assignment.subject_type,
      );
    return requireAnswerable(withSubjects(matching, directory.of), {
      noun: "assignments",
      member: "subject_id",
      remedy: "Choose a `subject_id`, and leave `include_revoked` out",
    });
  },
});

export const handler = http(route);
