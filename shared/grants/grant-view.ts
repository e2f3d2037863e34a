import * as z from "zod";

import { Capability } from "../auth/capabilities.ts";
import { ResourceType } from "../auth/permissions.ts";
import { Id } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";
import { SubjectType, type Assignment } from "./assignment.ts";

export const GrantKind = z.enum(["capability", "account_owner", "super_admin"]);

export const Grant = z
  .object({
    id: Id.meta({ description: "The grant's id." }),
    grant_kind: GrantKind.meta({ description: "What kind of grant it is." }),
    subject_id: Id.meta({ description: "Who holds it: a user, a group or a service account." }),
    subject_type: SubjectType.meta({ description: "What the subject is." }),
    capability_key: Capability.nullable().optional().meta({ description: "The capability, for capability grants." }),
    created_at: Timestamp.nullable().optional().meta({ description: "When it was granted." }),
    resource_id: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "What it is narrowed to; null for the account." }),
    resource_type: ResourceType.nullable().optional().meta({ description: "What kind of thing that is." }),
    revoked_at: Timestamp.nullable().optional().meta({ description: "When it was revoked; null while it holds." }),
  })
  .meta({ id: "AuthorizationGrant", description: "Something a subject may do in an account." });

/** An assignment as the specified grant; a role's assignment is none. */
export const grantOf = (assignment: Assignment): z.output<typeof Grant> => ({
  id: assignment.id,
  grant_kind: GrantKind.parse(assignment.kind),
  subject_id: assignment.subject_id,
  subject_type: assignment.subject_type,
  capability_key: assignment.capability ?? null,
  created_at: assignment.created_at,
  resource_id: assignment.scope?.id ?? null,
  resource_type: assignment.scope?.type ?? null,
  revoked_at: assignment.revoked_at ?? null,
});
