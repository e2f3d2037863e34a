import * as z from "zod";

import { assign, checkPair, resourcePair, scopeOf } from "../../../shared/access/authorizations.ts";
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
      description: "What kind of grant: a capability, ownership of the account, or super admin.",
    }),
    subject_id: SubjectId.meta({ description: "Who gets it: a user, group or service account." }),
    subject_type: SubjectType.meta({ description: "What the subject is." }),
    capability_key: Capability.nullish().meta({
      description: "The capability; for capability grants and only for them.",
    }),
    ...resourcePair,
  })
  .superRefine((body, context) => {
    const complain = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
    const isCapability = body.grant_kind === "capability";
    if (isCapability && !body.capability_key) complain("capability_key", "A capability grant needs its capability");
    if (!isCapability && body.capability_key) complain("capability_key", "Only a capability grant has a capability");
    if (!isCapability && body.resource_type) complain("resource_type", "Only a capability grant can be narrowed");
    if (body.grant_kind === "super_admin" && body.subject_type !== "user") {
      complain("subject_type", "Only a user can be a super admin");
    }
    checkPair(body, context);
  })
  .meta({
    id: "AuthorizationGrantCreate",
    description: "What to grant to whom.",
    examples: [
      {
        grant_kind: "capability",
        subject_id: "11111111-1111-4111-8111-111111111111",
        subject_type: "user",
        capability_key: "mailbox.view",
      },
    ],
  });

function givenBy(accountId: string, body: z.output<typeof Body>): Grantable {
  const { grant_kind: kind, capability_key: capability } = body;
  if (kind !== "capability") return { kind };
  if (!capability) throw new Error("the schema lets no such grant in");
  return { kind, capability, scope: scopeOf(accountId, body) };
}

export const route = defineRoute({
  name: "auth.authorizations.grant",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/auth/authorizations",
  summary: "Grant a capability, ownership or super admin",
  description:
    "Nobody grants what they do not hold, on a scope at least as wide; only owners make owners and only super admins make super admins. Who holds exactly this already keeps their grant, which is the answer.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: Body,
  status: 201,
  output: Grant,
  problems: ["would_escalate", "limit_reached"],
  run: ({ params: { account_id }, body }, context) => {
    const subject = { type: body.subject_type, id: body.subject_id };
    return assign(account_id, subject, givenBy(account_id, body), context, grantOf);
  },
});

export const handler = http(route);
