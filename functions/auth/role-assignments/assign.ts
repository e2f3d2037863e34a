import * as z from "zod";

import {
  assign,
  checkResource,
  GrantEnd,
  resourceMembers,
  scopeOf,
  aheadOfGrant,
  roleOf,
} from "../../../shared/access/authorizations.ts";
import { CustomRoleKey } from "../../../shared/access/roles.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { RoleAssignment, SubjectType, roleAssignmentOf } from "../../../shared/grants/assignment.ts";
import type { Grantable } from "../../../shared/grants/assignments.ts";
import { SubjectId } from "../../../shared/grants/references.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const Body = z
  .strictObject({
    role_key: CustomRoleKey.meta({
      description: "The role: a key of `auth.roles.list`, such as `viewer` or `manager`.",
      examples: ["viewer"],
    }),
    subject_id: SubjectId.meta({ description: "The id of the user, group or service account that gets the role." }),
    subject_type: SubjectType.meta({ description: "The type of the subject." }),
    ...resourceMembers,
    expires_at: GrantEnd,
  })
  .superRefine(checkResource)
  .meta({ id: "RoleAssignmentCreate", description: "A role to assign to a subject." });

const grantableOf = (accountId: string, body: z.output<typeof Body>): Grantable => ({
  ...roleOf(body.role_key),
  scope: scopeOf(accountId, body),
  expires_at: body.expires_at ?? undefined,
});

export const route = defineRoute({
  name: "auth.role_assignments.assign",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/role-assignments", status: 201 },
  summary: "Assign a role",
  synonyms: ["make", "administrator", "admin", "give", "access", "permissions", "rights", "someone", "user"],
  description:
    "A role is a set of capabilities. You must hold every one of them, on the same scope or on a wider one. With `expires_at` the assignment ends by itself. If your own capability has an end, the assignment must end at the same time or earlier. If the subject already has the role on the same scope, no second assignment is made. The answer is the existing assignment, with the `expires_at` of this call. Without `expires_at`, the existing assignment no longer ends. The id of a user is not checked. A service account that has expired gets a 422. A subject can hold 1,000 grants and roles (409 `limit_reached`).",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: Body,
  output: RoleAssignment,
  problems: ["would_escalate", "limit_reached"],
  ahead: ({ params: { account_id }, body }, expected) =>
    aheadOfGrant(account_id, { type: body.subject_type, id: body.subject_id }, grantableOf(account_id, body), expected),
  run: ({ params: { account_id }, body }, context) => {
    const subject = { type: body.subject_type, id: body.subject_id };
    return assign(account_id, subject, grantableOf(account_id, body), context, roleAssignmentOf);
  },
});

export const handler = http(route);
