import * as z from "zod";

import {
  assign,
  checkResource,
  GrantEnd,
  resourceMembers,
  scopeOf,
  aheadOfGrant,
} from "../../../shared/access/authorizations.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { Capability } from "../../../shared/auth/capabilities.ts";
import { Grant, GrantKind, SubjectType, grantOf } from "../../../shared/grants/assignment.ts";
import type { Grantable } from "../../../shared/grants/assignments.ts";
import { SubjectId } from "../../../shared/grants/references.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

const Body = z
  .strictObject({
    grant_kind: GrantKind.meta({
      description: "The kind of grant: a capability, ownership of the account, or super admin.",
    }),
    subject_id: SubjectId.meta({ description: "The id of the user, group or service account that gets the grant." }),
    subject_type: SubjectType.meta({ description: "The type of the subject." }),
    capability_key: Capability.nullish().meta({
      description: "The capability. Required for a capability grant, and not allowed for other grants.",
    }),
    ...resourceMembers,
    expires_at: GrantEnd,
  })
  .superRefine((body, context) => {
    const complain = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
    const isCapability = body.grant_kind === "capability";
    if (isCapability && !body.capability_key) complain("capability_key", "A capability grant needs a capability_key");
    if (!isCapability && body.capability_key)
      complain("capability_key", "Only a capability grant can have a capability_key");
    if (!isCapability && body.resource_type)
      complain("resource_type", "Only a capability grant can be narrowed to a resource");
    if (body.grant_kind === "super_admin" && body.subject_type !== "user") {
      complain("subject_type", "Only a user can be a super admin");
    }
    checkResource(body, context);
  })
  .meta({
    id: "AuthorizationGrantCreate",
    description: "A grant to create.",
    examples: [
      {
        grant_kind: "capability",
        subject_id: "11111111-1111-4111-8111-111111111111",
        subject_type: "user",
        capability_key: "mailbox.view",
      },
    ],
  });

function grantableOf(accountId: string, body: z.output<typeof Body>): Grantable {
  const { grant_kind: kind, capability_key: capability } = body;
  const expires_at = body.expires_at ?? undefined;
  if (kind !== "capability") return { kind, expires_at };
  if (!capability) throw new Error("A capability grant has no capability.");
  return { kind, capability, scope: scopeOf(accountId, body), expires_at };
}

export const route = defineRoute({
  name: "auth.authorizations.grant",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/authorizations", status: 201 },
  summary: "Grant a capability, ownership or super admin",
  synonyms: [
    "give",
    "access",
    "permission",
    "rights",
    "allow",
    "let",
    "share",
    "invite",
    "someone",
    "owner",
    "transfer",
  ],
  description:
    "You can grant only permissions that you hold yourself, on the same scope or on a wider one. Only owners and super admins can grant ownership. Only super admins can grant super admin. A super admin may do everything in every account. The id of a user is not checked. A service account that has expired gets a 422. Users find their own id with `me.get`. To give access to a person whose id you do not know, call `auth.invitations.create`. With `expires_at` the grant ends by itself. If your own permission has an end, the grant must end at the same time or earlier. If the subject already holds the same grant, no second grant is made. The answer is the existing grant, with the `expires_at` of this call. Without `expires_at`, the existing grant no longer ends. Every account keeps at least one user whose ownership has no end. A call that would give an end to the last of these ownerships fails with 409 `last_owner`. A subject can hold 1,000 grants and roles, and an account can have 1,000 users whose ownership has no end (409 `limit_reached`).",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: Body,
  output: Grant,
  problems: ["would_escalate", "last_owner", "limit_reached"],
  ahead: ({ params: { account_id }, body }, expected) =>
    aheadOfGrant(account_id, { type: body.subject_type, id: body.subject_id }, grantableOf(account_id, body), expected),
  run: ({ params: { account_id }, body }, context) => {
    const subject = { type: body.subject_type, id: body.subject_id };
    return assign(account_id, subject, grantableOf(account_id, body), context, grantOf);
  },
});

export const handler = http(route);
