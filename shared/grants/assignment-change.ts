import { change, defineKind, type Change } from "../changes/kind.ts";
import type { Assignment } from "./assignment.ts";
import { Grant, grantOf } from "./grant-view.ts";
import { RoleAssignment, roleAssignmentOf } from "./role-assignments.ts";

const verbs = ["created", "revoked"] as const;

export const grantKind = defineKind({ name: "auth.grant", verbs, view: Grant, seenWith: "auth.manage" });
export const roleAssignmentKind = defineKind({
  name: "auth.role_assignment",
  verbs,
  view: RoleAssignment,
  seenWith: "auth.manage",
});

/** The change that an assignment's beginning or end is. */
export function assignmentChange(verb: (typeof verbs)[number], assignment: Assignment, now?: Date): Change {
  const [kind, view] =
    assignment.kind === "role" ? [roleAssignmentKind, roleAssignmentOf] : ([grantKind, grantOf] as const);
  const after = verb === "revoked" && now ? { ...assignment, revoked_at: now.toISOString() } : assignment;
  return change(kind, verb, assignment.id, {
    ...(verb === "revoked" ? { before: view(assignment) } : {}),
    after: view(after),
  });
}
