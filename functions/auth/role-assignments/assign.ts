import * as z from "zod";

import {
  assign,
  checkResource,
  resourceMembers,
  scopeOf,
  aheadOfGrant,
} from "../../../shared/access/authorizations.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { RoleKey } from "../../../shared/auth/capabilities.ts";
import { RoleAssignment, SubjectType, roleAssignmentOf } from "../../../shared/grants/assignment.ts";
import { SubjectId } from "../../../shared/grants/references.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.role_assignments.assign",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/role-assignments", status: 201 },
  summary: "Assign a role",
  synonyms: ["make", "administrator", "admin", "give", "access", "permissions", "rights", "someone", "user"],
  description:
    "A role is a fixed bundle of capabilities. You must hold every one of them, on the same scope or on a wider one.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({
      role_key: RoleKey.meta({ description: "The role." }),
      subject_id: SubjectId.meta({ description: "The id of the user, group or service account that gets the role." }),
      subject_type: SubjectType.meta({ description: "The type of the subject." }),
      ...resourceMembers,
    })
    .superRefine(checkResource)
    .meta({ id: "RoleAssignmentCreate", description: "A role to assign to a subject." }),
  output: RoleAssignment,
  problems: ["would_escalate", "limit_reached"],
  ahead: ({ params: { account_id }, body }, expected) => {
    const given = { kind: "role" as const, role: body.role_key, scope: scopeOf(account_id, body) };
    return aheadOfGrant(account_id, { type: body.subject_type, id: body.subject_id }, given, expected);
  },
  run: ({ params: { account_id }, body }, context) => {
    const given = { kind: "role" as const, role: body.role_key, scope: scopeOf(account_id, body) };
    const subject = { type: body.subject_type, id: body.subject_id };
    return assign(account_id, subject, given, context, roleAssignmentOf);
  },
});

export const handler = http(route);
