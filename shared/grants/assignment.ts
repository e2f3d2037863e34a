import * as z from "zod";

import { Capability, RoleKey, roles } from "../auth/capabilities.ts";
import { ResourceType } from "../auth/permissions.ts";
import { type Change, change, defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";

export const SubjectType = z.enum(["user", "group", "service_account"]);
const AssignmentKind = z.enum(["capability", "account_owner", "super_admin", "role"]);

/**
 * Something that a subject was given, as it is stored: a capability, ownership or super admin (the API calls these
 * grants), or a role (a role assignment).
 */
export const StoredAssignment = z.object({
  id: z.string(),
  kind: AssignmentKind,
  subject_type: SubjectType,
  subject_id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  scope: z.object({ type: ResourceType, id: z.string() }).optional(),
  created_at: z.string(),
  created_by: z.string(),
  revoked_at: z.string().optional(),
});
export type Assignment = z.output<typeof StoredAssignment>;

export const GrantKind = z.enum(["capability", "account_owner", "super_admin"]);

export const Grant = z
  .object({
    id: Id.meta({ description: "The grant's id." }),
    grant_kind: GrantKind.meta({ description: "The kind of grant." }),
    subject_id: Id.meta({ description: "The id of the subject: a user, a group or a service account." }),
    subject_type: SubjectType.meta({ description: "The type of the subject." }),
    capability_key: Capability.nullable().optional().meta({ description: "The capability, for capability grants." }),
    created_at: Timestamp.nullable().optional().meta({ description: "When the grant was created." }),
    resource_id: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "The id of the resource to which the grant is narrowed. Null for the whole account." }),
    resource_type: ResourceType.nullable()
      .optional()
      .meta({ description: "The type of the resource to which the grant is narrowed. Null for the whole account." }),
    revoked_at: Timestamp.nullable()
      .optional()
      .meta({ description: "When the grant was revoked. Null if it was not revoked." }),
  })
  .meta({
    id: "AuthorizationGrant",
    description: "A capability, ownership or super admin that a subject holds in an account.",
  });

/** The API view of a grant. Throws for the assignment of a role. */
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

export const RoleAssignment = z
  .object({
    id: Id.meta({ description: "The assignment's id." }),
    role_key: RoleKey.meta({ description: "The role." }),
    expanded_capability_keys: z.array(Capability).meta({ description: "The capabilities of the role." }),
    subject_id: Id.meta({ description: "The id of the subject: a user, a group or a service account." }),
    subject_type: SubjectType.meta({ description: "The type of the subject." }),
    resource_id: z
      .string()
      .nullable()
      .meta({ description: "The id of the resource to which the assignment is narrowed. Null for the whole account." }),
    resource_type: ResourceType.nullable().meta({
      description: "The type of the resource to which the assignment is narrowed. Null for the whole account.",
    }),
    created_at: Timestamp.meta({ description: "When the role was assigned." }),
    revoked_at: Timestamp.nullable().meta({
      description: "When the assignment was revoked. Null if it was not revoked.",
    }),
  })
  .meta({ id: "RoleAssignment", description: "A role that a subject holds in an account." });

/** The API view of the assignment of a role. Throws for a grant. */
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

const verbs = ["created", "revoked"] as const;

export const grantKind = defineKind({ name: "auth.grant", verbs, view: Grant, seenWith: "auth.manage" });
export const roleAssignmentKind = defineKind({
  name: "auth.role_assignment",
  verbs,
  view: RoleAssignment,
  seenWith: "auth.manage",
});

/** The recorded change for the creation or the revocation of an assignment. `now` is the time of the revocation. */
export function assignmentChange(verb: (typeof verbs)[number], assignment: Assignment, now?: Date): Change {
  const [kind, view] =
    assignment.kind === "role" ? [roleAssignmentKind, roleAssignmentOf] : ([grantKind, grantOf] as const);
  const after = verb === "revoked" && now ? { ...assignment, revoked_at: now.toISOString() } : assignment;
  return change(kind, verb, assignment.id, {
    ...(verb === "revoked" ? { before: view(assignment) } : {}),
    after: view(after),
  });
}
