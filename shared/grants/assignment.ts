import * as z from "zod";

import type { RolesRecord } from "../accounts/standing.ts";
import { Capability, RoleKey, roles } from "../auth/capabilities.ts";
import { isLive, ResourceType } from "../auth/permissions.ts";
import { type Change, change, defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";

export const SubjectType = z.enum(["user", "group", "service_account"]);
const AssignmentKind = z.enum(["capability", "account_owner", "super_admin", "role", "custom_role"]);

/**
 * A stored permission of a subject: a capability, ownership or super admin (a grant in the API), or a role (a role
 * assignment in the API). A custom role is a role that the account has made.
 */
export const StoredAssignment = z.object({
  id: z.string(),
  kind: AssignmentKind,
  subject_type: SubjectType,
  subject_id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  custom_role: z.string().optional(),
  scope: z.object({ type: ResourceType, id: z.string() }).optional(),
  created_at: z.string(),
  created_by: z.string(),
  /** When the assignment ends by itself; undefined if it does not end. */
  expires_at: z.string().optional(),
  revoked_at: z.string().optional(),
});
export type Assignment = z.output<typeof StoredAssignment>;

/**
 * The members that describe one permission (ownership, a capability or a role) in a list of a subject's permissions.
 */
export const permissionMembers = {
  kind: z.enum(["account_owner", "capability", "role"]).meta({ description: "The kind of the permission." }),
  capability_key: Capability.nullable().meta({ description: "The capability. Null for a role and for ownership." }),
  role_key: z.string().nullable().meta({ description: "The role. Null for a capability and for ownership." }),
  resource_type: ResourceType.nullable().meta({
    description: "The type of the resource to which the permission is limited. Null for the whole account.",
  }),
  resource_id: z.string().nullable().meta({
    description: "The id of the resource to which the permission is limited. Null for the whole account.",
  }),
  expires_at: Timestamp.nullable().meta({
    description: "When the permission ends by itself. Null if it does not end.",
  }),
};

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
      .meta({ description: "The id of the resource to which the grant is limited. Null for the whole account." }),
    resource_type: ResourceType.nullable()
      .optional()
      .meta({ description: "The type of the resource to which the grant is limited. Null for the whole account." }),
    expires_at: Timestamp.nullable()
      .optional()
      .meta({ description: "When the grant ends by itself. Null if it does not end." }),
    revoked_at: Timestamp.nullable()
      .optional()
      .meta({ description: "When the grant was revoked or ended. Null if it is in force." }),
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
  expires_at: assignment.expires_at ?? null,
  revoked_at: assignment.revoked_at ?? null,
});

export const RoleAssignment = z
  .object({
    id: Id.meta({ description: "The assignment's id." }),
    role_key: z
      .string()
      .meta({ description: "The key of the role. The role comes with the product, or the account has made it." }),
    expanded_capability_keys: z.array(Capability).meta({ description: "The capabilities of the role." }),
    subject_id: Id.meta({ description: "The id of the subject: a user, a group or a service account." }),
    subject_type: SubjectType.meta({ description: "The type of the subject." }),
    resource_id: z
      .string()
      .nullable()
      .meta({ description: "The id of the resource to which the assignment is limited. Null for the whole account." }),
    resource_type: ResourceType.nullable().meta({
      description: "The type of the resource to which the assignment is limited. Null for the whole account.",
    }),
    created_at: Timestamp.meta({ description: "When the role was assigned." }),
    expires_at: Timestamp.nullable().meta({
      description: "When the assignment ends by itself. Null if it does not end.",
    }),
    revoked_at: Timestamp.nullable().meta({
      description: "When the assignment was revoked or ended. Null if it is in force.",
    }),
  })
  .meta({ id: "RoleAssignment", description: "A role that a subject holds in an account." });

/** Whether the assignment assigns a role. */
export const isOfRole = ({ kind }: Pick<Assignment, "kind">): boolean => kind === "role" || kind === "custom_role";

/** The API view of the assignment of a role. `own` are the roles of the account. Throws for a grant. */
export function roleAssignmentOf(assignment: Assignment, { roles: own }: RolesRecord): z.output<typeof RoleAssignment> {
  const { custom_role: key } = assignment;
  const ownRole = key !== undefined && Object.hasOwn(own, key) ? own[key] : undefined;
  const held = key === undefined ? roles[RoleKey.parse(assignment.role)] : ownRole?.capabilities;
  return {
    id: assignment.id,
    role_key: key ?? RoleKey.parse(assignment.role),
    expanded_capability_keys: [...(held ?? [])],
    subject_id: assignment.subject_id,
    subject_type: assignment.subject_type,
    resource_id: assignment.scope?.id ?? null,
    resource_type: assignment.scope?.type ?? null,
    created_at: assignment.created_at,
    expires_at: assignment.expires_at ?? null,
    revoked_at: assignment.revoked_at ?? null,
  };
}

const verbs = ["created", "updated", "revoked", "expired"] as const;

export const grantKind = defineKind({ name: "auth.grant", verbs, view: Grant, seenWith: "auth.manage" });
export const roleAssignmentKind = defineKind({
  name: "auth.role_assignment",
  verbs,
  view: RoleAssignment,
  seenWith: "auth.manage",
});

const viewOf = (assignment: Assignment, own: RolesRecord): object =>
  isOfRole(assignment) ? roleAssignmentOf(assignment, own) : grantOf(assignment);

/**
 * The change to record for a new assignment (`before` is undefined), or for an assignment that gets another end. `own`
 * are the roles of the account.
 */
export const assignmentChange = (before: Assignment | undefined, after: Assignment, own: RolesRecord): Change =>
  change(isOfRole(after) ? roleAssignmentKind : grantKind, before ? "updated" : "created", after.id, {
    ...(before ? { before: viewOf(before, own) } : {}),
    after: viewOf(after, own),
  });

/**
 * The assignment as it is kept after it was revoked, or after it has ended by itself. `revoked_at` is the earlier of
 * these times.
 */
export function endedAssignment(assignment: Assignment, now: Date): Assignment {
  const { expires_at } = assignment;
  const at = now.toISOString();
  return { ...assignment, revoked_at: expires_at !== undefined && !isLive(expires_at, at) ? expires_at : at };
}

/** The change to record when an assignment is revoked, or has ended by itself. */
export function endChange(assignment: Assignment, own: RolesRecord, now: Date): Change {
  const verb = isLive(assignment.expires_at, now.toISOString()) ? "revoked" : "expired";
  return change(isOfRole(assignment) ? roleAssignmentKind : grantKind, verb, assignment.id, {
    before: viewOf(assignment, own),
    after: viewOf(endedAssignment(assignment, now), own),
  });
}
