import * as z from "zod";

import { aheadWithNames, readDirectory, subjectMembers, withSubjects } from "../../../shared/access/members.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { Capability } from "../../../shared/auth/capabilities.ts";
import { Id } from "../../../shared/core/ids.ts";
import { requireAnswerable } from "../../../shared/core/page.ts";
import { Grant, GrantKind, isOfRole, SubjectType, grantOf } from "../../../shared/grants/assignment.ts";
import { listAssignments, aheadOfAssignments } from "../../../shared/grants/assignments.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const ListedGrant = Grant.extend(subjectMembers).meta({
  id: "ListedAuthorizationGrant",
  description: "A capability, ownership or super admin that a subject holds in an account, with the subject's name.",
});

export const route = defineRoute({
  name: "auth.authorizations.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/authorizations" },
  summary: "List grants",
  synonyms: [
    "who",
    "who has permission",
    "access",
    "permissions of the team",
    "permissions",
    "rights",
    "allowed",
    "can",
    "show",
    "owners",
    "users",
  ],
  description:
    "All grants of the account, oldest first. For assigned roles, use `auth.role_assignments.list`. If the grants are too large for an answer, the answer is a 422 (`too_many`): choose a `subject_id`.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    capability_key: Capability.nullish().meta({ description: "Only grants of this capability." }),
    grant_kind: GrantKind.nullish().meta({ description: "Only grants of this kind." }),
    include_revoked: z
      .boolean()
      .default(false)
      .meta({ description: "Whether grants that were revoked or have ended in the last 400 days are included." }),
    subject_id: Id.nullish().meta({ description: "Only grants of this subject." }),
    subject_type: SubjectType.nullish().meta({ description: "Only grants of subjects of this type." }),
  }),
  output: z.array(ListedGrant).meta({ description: "The grants." }),
  ahead: ({ params }) => aheadWithNames(params.account_id, aheadOfAssignments(params.account_id)),
  run: async ({ params, query: { include_revoked, ...filter } }, { table, now }) => {
    const [assignments, directory] = await Promise.all([
      listAssignments(table, params.account_id, include_revoked, now()),
      readDirectory(table, params.account_id),
    ]);
    const grants = assignments.filter((assignment) => !isOfRole(assignment)).map(grantOf);
    const filters = Object.entries(filter).filter(([, value]) => value !== undefined && value !== null);
    const matching = grants.filter((grant) => {
      const members = new Map<string, unknown>(Object.entries(grant));
      return filters.every(([name, value]) => members.get(name) === value);
    });
    return requireAnswerable(withSubjects(matching, directory.of), {
      noun: "grants",
      member: "subject_id",
      remedy: "Choose a `subject_id`, and leave `include_revoked` out",
    });
  },
});

export const handler = http(route);
