import * as z from "zod";

import { assign, checkPair, resourcePair, scopeOf } from "../../../shared/access/authorizations.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { RoleKey } from "../../../shared/auth/capabilities.ts";
import { RoleAssignment, SubjectType, roleAssignmentOf } from "../../../shared/grants/assignment.ts";
import { SubjectId } from "../../../shared/grants/references.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.role_assignments.assign",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/auth/role-assignments",
  summary: "Assign a role",
  description: "A role is a fixed bundle of capabilities, of which the caller must hold every one.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({
      role_key: RoleKey.meta({ description: "The role." }),
      subject_id: SubjectId.meta({ description: "Who gets it: a user, group or service account." }),
      subject_type: SubjectType.meta({ description: "What the subject is." }),
      ...resourcePair,
    })
    .superRefine(checkPair)
    .meta({ id: "RoleAssignmentCreate", description: "Which role to assign to whom." }),
  status: 201,
  output: RoleAssignment,
  problems: ["would_escalate", "limit_reached"],
  run: ({ params: { account_id }, body }, context) => {
    const given = { kind: "role" as const, role: body.role_key, scope: scopeOf(account_id, body) };
    const subject = { type: body.subject_type, id: body.subject_id };
    return assign(account_id, subject, given, context, roleAssignmentOf);
  },
});

export const handler = http(route);
