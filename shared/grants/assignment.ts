import * as z from "zod";

import { Capability, RoleKey } from "../auth/capabilities.ts";
import { ResourceType } from "../auth/permissions.ts";

export const SubjectType = z.enum(["user", "group", "service_account"]);
const AssignmentKind = z.enum(["capability", "account_owner", "super_admin", "role"]);

/** A grant of the specification or the assignment of a role, as it is stored. */
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
