import type * as z from "zod";

import { ResourceType, type Scope, type HeldGrant } from "../auth/permissions.ts";
import { notFound } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import type { Assignment } from "../grants/assignment.ts";
import {
  getAssignment,
  getAssignments,
  planAssignments,
  planRevocation,
  type Grantable,
  assignmentKey,
  requireEffect,
} from "../grants/assignments.ts";
import { readHeld, superAdminGrants, type Subject, aheadOfHolder } from "../grants/holders.ts";
import { forSubject, noSuch } from "../grants/references.ts";
import type { Context, Expected } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { requireToHold, type Handed } from "./escalation.ts";
import { locate, aheadOfScope } from "./scopes.ts";

/**
 * The members that narrow a grant to one resource. Without them, or with the account itself, the grant covers the whole
 * account.
 */
export const resourceMembers = {
  resource_type: ResourceType.nullish().meta({
    description: "The type of the resource to which the access is narrowed. Give it with `resource_id`.",
  }),
  resource_id: Id.nullish().meta({
    description: "The id of the resource to which the access is narrowed. Give it with `resource_type`.",
  }),
};
type ResourceMembers = { resource_type?: ResourceType | null | undefined; resource_id?: string | null | undefined };

/** Adds an issue if only one of the two members is given. */
export function checkResource({ resource_type, resource_id }: ResourceMembers, context: z.RefinementCtx): void {
  if ((resource_type ?? undefined) === undefined && resource_id) {
    context.addIssue({ code: "custom", path: ["resource_type"], message: "Give resource_type with resource_id" });
  }
  if (resource_type && !resource_id) {
    context.addIssue({ code: "custom", path: ["resource_id"], message: "Give resource_id with resource_type" });
  }
}

/** The scope that the members name; undefined for the whole account. */
export function scopeOf(accountId: string, { resource_type, resource_id }: ResourceMembers): Scope | undefined {
  if (!resource_type || !resource_id) return undefined;
  return resource_type === "account" && resource_id === accountId
    ? undefined
    : { type: resource_type, id: resource_id };
}

const grantMatches = ({ capability, role, scope }: Omit<HeldGrant, "id">, given: Grantable): boolean =>
  capability === ("capability" in given ? given.capability : undefined) &&
  role === ("role" in given ? given.role : undefined) &&
  scope?.id === ("scope" in given ? given.scope?.id : undefined) &&
  scope?.type === ("scope" in given ? given.scope?.type : undefined);

const isSameAssignment = (assignment: Assignment, given: Grantable): boolean =>
  assignment.kind === given.kind && grantMatches(assignment, given);

function handedAs(given: Grantable): Handed {
  switch (given.kind) {
    case "capability":
      return { capability: given.capability, ...(given.scope ? { scope: given.scope } : {}) };
    case "role":
      return { role: given.role, ...(given.scope ? { scope: given.scope } : {}) };
    default:
      return given.kind;
  }
}

/** The items that `assign` reads. */
export function aheadOfGrant(accountId: string, subject: Subject, given: Grantable, expected: Expected): Ahead {
  const scope = "scope" in given ? given.scope : undefined;
  const located = scope ? aheadOfScope(accountId, scope, expected) : [];
  return { keys: [...located, ...located, ...aheadOfHolder(accountId, subject, { times: 2 })] };
}

/**
 * Gives a capability, role or ownership to a subject, and returns the view of the assignment. If the subject has the
 * same assignment already, nothing changes. Throws:
 * - 403 `would_escalate` if the caller does not hold the same permissions;
 * - 409 `limit_reached` if the subject holds too many grants, or the account has too many owners;
 * - 422 for a group, service account or resource that the account does not have;
 * - 422 for a capability or role that allows nothing on the resource.
 */
export async function assign<V>(
  accountId: string,
  subject: Subject,
  given: Grantable,
  context: Context,
  view: (assignment: Assignment) => V,
): Promise<V> {
  const { table, commit, principal, now } = context;
  const scope = "scope" in given ? given.scope : undefined;
  requireEffect(given);
  if (scope && !(await locate(table, accountId, scope))) throw noSuch("resource_id", scope.type);
  await requireToHold(context, accountId, [handedAs(given)]);
  return commit(async () => {
    const located = scope && (await locate(table, accountId, scope));
    if (scope && !located) throw noSuch("resource_id", scope.type);
    // Plans first, then looks for the same assignment. If another request adds the assignment in between, the conditions
    // of the plan fail.
    const author = { by: principal.id, now: now() };
    const planned = planAssignments(table, accountId, subject, [given], author);
    const { assignments, writes, changes } = await forSubject(subject, planned);
    const existing = await findSame(table, accountId, subject, given);
    if (existing) return { value: view(existing), writes: [], changes: [] };
    const [assignment] = assignments;
    if (!assignment) throw new Error("nothing was planned");
    return { value: view(assignment), writes: [...writes, ...(located?.present ? [located.present] : [])], changes };
  });
}

/** The subject's assignment that gives the same as `given`; undefined if it has none. */
async function findSame(
  table: Reader,
  accountId: string,
  subject: Subject,
  given: Grantable,
): Promise<Assignment | undefined> {
  const held = await readHeld(table, accountId, subject);
  const ownerIds = held?.owner_grant_id === undefined ? [] : [held.owner_grant_id];
  const rankIds = given.kind === "super_admin" ? await superAdminGrants(table, subject.id) : ownerIds;
  const grants = held?.grants.filter((grant) => grantMatches(grant, given)) ?? [];
  const ids = [...grants.map(({ id }) => id), ...rankIds];
  return (await getAssignments(table, accountId, ids)).find((assignment) => isSameAssignment(assignment, given));
}

/** The items that `revoke` reads first. */
export const aheadOfRevocation = (accountId: string, id: string): Ahead => ({
  keys: [assignmentKey(accountId, "ASSIGNMENT", id), assignmentKey(accountId, "ASSIGNMENT", id)],
});

/**
 * Revokes an assignment of one of `kinds`. Throws 404 and 409 `last_owner`. Throws 403 `would_escalate` for ownership
 * if the caller is neither an owner nor a super admin, and for super admin if the caller is no super admin.
 */
export async function revoke(
  accountId: string,
  id: string,
  kinds: readonly Assignment["kind"][],
  context: Context,
): Promise<void> {
  const { table, commit, now } = context;
  const found = await getAssignment(table, accountId, id);
  if (!kinds.includes(found.kind)) throw notFound();
  if (found.kind === "account_owner" || found.kind === "super_admin")
    await requireToHold(context, accountId, [found.kind]);
  await commit(async () => {
    const assignment = await getAssignment(table, accountId, id);
    return { value: undefined, ...(await planRevocation(table, accountId, [assignment], now())) };
  });
}
