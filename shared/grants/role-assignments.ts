import * as z from "zod";

import { Capability, RoleKey, roles } from "../auth/capabilities.ts";
import { ResourceType } from "../auth/permissions.ts";
import { Id } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";
import { SubjectType, type Assignment } from "./assignment.ts";

export const RoleAssignment = z
  .object({
    id: Id.meta({ description: "The assignment's id." }),
    role_key: RoleKey.meta({ description: "The role." }),
    expanded_capability_keys: z.array(Capability).meta({ description: "The capabilities the role gives." }),
    subject_id: Id.meta({ description: "Who holds it: a user, a group or a service account." }),
    subject_type: SubjectType.meta({ description: "What the subject is." }),
    resource_id: z.string().nullable().meta({ description: "What it is narrowed to; null for the account." }),
    resource_type: ResourceType.nullable().meta({ description: "What kind of thing that is." }),
    created_at: Timestamp.meta({ description: "When it was assigned." }),
    revoked_at: Timestamp.nullable().meta({ description: "When it was revoked; null while it holds." }),
  })
  .meta({ id: "RoleAssignment", description: "A role that a subject has in an account." });

/** An assignment of a role as its own kind of resource. */
export function roleAssignmentOf(assignment: Assignment): z.output<typeof RoleAssignment> {
  const role = RoleKey.parse(assignment.role);
  return {
    id: assignment.id,
    role_key: role,
    expanded_capability_keys: [...roles[role]],
    subject_id: assignment.subject_id,
    subject_type: assignment.subject_type,
    resource_id: assignment.scope?.id ?? null,
    resource_type: assignment.scope?.type ?? null,
    created_at: assignment.created_at,
    revoked_at: assignment.revoked_at ?? null,
  };
}
