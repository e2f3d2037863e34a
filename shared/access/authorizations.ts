import type * as z from "zod";

import { noRoles, type RolesRecord } from "../accounts/standing.ts";
import { RoleKey } from "../auth/capabilities.ts";
import { isLive, ResourceType, type HeldGrant, type Scope } from "../auth/permissions.ts";
import { invalidAt, notFound } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import { clock, FutureTime, yearsAfter } from "../core/time.ts";
import type { Assignment } from "../grants/assignment.ts";
import {
  getAssignment,
  getAssignments,
  planAssignments,
  planNewEnds,
  planRevocation,
  type Grantable,
  assignmentKey,
  capabilitiesGiven,
  requireEffect,
} from "../grants/assignments.ts";
import { readHeld, superAdminGrants, type Subject, aheadOfHolder } from "../grants/holders.ts";
import { forSubject, missingReference } from "../grants/references.ts";
import type { Context, Expected } from "../http/route.ts";
import { readerAhead, type Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { heldNow, requireToHold, type Permission } from "./escalation.ts";
import { readRoles, rolesWrite } from "./roles.ts";
import { locate, aheadOfScope } from "./scopes.ts";
import { aheadOfUnexpired, requireUnexpired } from "./service-account.ts";

/**
 * The members of an input that narrow a grant to one resource. If these members are absent, or name the account itself,
 * the grant covers the whole account.
 */
export const resourceMembers = {
  resource_type: ResourceType.nullish().meta({
    description:
      "The type of the resource to which the access is limited: `workspace`, `domain`, `mailbox`, `credential` or `forwarding`. `account` with the account's own id means the whole account. Any other type gets a 422. A type on which the capability or the role has no effect also gets a 422. Ownership and super admin cannot be limited. Send this member together with `resource_id`.",
  }),
  resource_id: Id.nullish().meta({
    description: "The id of the resource to which the access is limited. Give it with `resource_type`.",
  }),
};
type ResourceMembers = { resource_type?: ResourceType | null | undefined; resource_id?: string | null | undefined };

/** Adds an issue if only one of `resource_type` and `resource_id` is set. */
export function checkResource({ resource_type, resource_id }: ResourceMembers, context: z.RefinementCtx): void {
  if ((resource_type ?? undefined) === undefined && resource_id) {
    context.addIssue({ code: "custom", path: ["resource_type"], message: "Give resource_type with resource_id" });
  }
  if (resource_type && !resource_id) {
    context.addIssue({ code: "custom", path: ["resource_id"], message: "Give resource_id with resource_type" });
  }
}

/** The scope of `resource_type` and `resource_id`; undefined for the whole account. */
export function scopeOf(accountId: string, { resource_type, resource_id }: ResourceMembers): Scope | undefined {
  if (!resource_type || !resource_id) return undefined;
  return resource_type === "account" && resource_id === accountId
    ? undefined
    : { type: resource_type, id: resource_id };
}

/** The latest possible end of a grant or of an assignment, in years from now. */
const longestYears = 10;

/** The time at which a grant or the assignment of a role ends by itself. */
export const GrantEnd = FutureTime.refine((at) => Date.parse(at) <= yearsAfter(clock(), longestYears).getTime(), {
  error: `Write a time within ${longestYears} years`,
})
  .nullish()
  .meta({
    description: `When the access ends by itself, at most ${longestYears} years from now. Without this time, the access does not end.`,
  });

/** The role with this key: a role of the product, or else a role that the account has made. */
export const roleOf = (key: string): { kind: "role"; role: RoleKey } | { kind: "custom_role"; custom_role: string } => {
  const role = RoleKey.safeParse(key).data;
  return role === undefined ? { kind: "custom_role", custom_role: key } : { kind: "role", role };
};

/** Whether an assignment gives the same permission as `grantable`. The two can end at different times. */
const isSameAssignment = (
  assignment: Omit<HeldGrant, "id"> & Pick<Assignment, "kind">,
  grantable: Grantable,
): boolean => {
  const { kind, capability, role, custom_role, scope } = { ...emptyGrant, ...grantable };
  return (
    assignment.kind === kind &&
    assignment.capability === capability &&
    assignment.role === role &&
    assignment.custom_role === custom_role &&
    assignment.scope?.id === scope?.id &&
    assignment.scope?.type === scope?.type
  );
};

/** Whether a held grant gives the same permission as `grantable`. */
export const grantMatches = (grant: Omit<HeldGrant, "id">, grantable: Grantable): boolean =>
  isSameAssignment({ ...grant, kind: grantable.kind }, grantable);
/** The members that some kinds of `Grantable` do not have. */
const emptyGrant = { capability: undefined, role: undefined, custom_role: undefined, scope: undefined };

/** The permission that a caller must hold to give `grantable`. */
export function permissionOf(grantable: Grantable): Permission {
  const { expires_at } = grantable;
  if (grantable.kind === "account_owner" || grantable.kind === "super_admin")
    return { rank: grantable.kind, expires_at };
  const { kind: _, scope, ...given } = grantable;
  return { ...given, ...(scope ? { scope } : {}), ...(expires_at === undefined ? {} : { expires_at }) };
}

/** Items that `assign` reads. `assign` reads the resource and the holder twice, so their keys are listed twice. */
export function aheadOfGrant(accountId: string, subject: Subject, grantable: Grantable, expected: Expected): Ahead {
  const scope = "scope" in grantable ? grantable.scope : undefined;
  const located = scope ? aheadOfScope(accountId, scope, expected) : [];
  const holder = aheadOfHolder(accountId, subject, { times: 2 });
  return { keys: [...located, ...located, ...holder, ...aheadOfUnexpired(accountId, subject)] };
}

/**
 * Gives a capability, a role, ownership or super admin to a subject, and returns the view of the assignment. If the
 * subject has the same assignment already, that assignment gets the new end. A subject can have several equal
 * assignments that earlier versions of the product made. All of them get the new end. Throws:
 * - 403 `would_escalate` if the caller does not hold the permission, or loses it before the new assignment ends;
 * - 409 `last_owner` if the subject is the only user whose ownership does not end, and the new ownership would end;
 * - 409 `limit_reached` if the subject would hold too many grants, if the account would have too many owners, or if the
 *   groups of the account would not fit into one item;
 * - 422 for a group, service account, resource or role that the account does not have;
 * - 422 for a service account that has expired, unless it has the same assignment already;
 * - 422 for a capability or role that allows nothing on the resource.
 */
export async function assign<V>(
  accountId: string,
  subject: Subject,
  grantable: Grantable,
  context: Context,
  view: (assignment: Assignment, own: RolesRecord) => V,
): Promise<V> {
  const { table, commit, principal, now } = context;
  const scope = "scope" in grantable ? grantable.scope : undefined;
  requireEffect(grantable, capabilitiesGiven(grantable, await namedRoles(table, accountId, grantable)));
  if (scope && !(await locate(table, accountId, scope))) throw missingReference("resource_id", scope.type);
  await requireToHold(context, accountId, [permissionOf(grantable)]);
  return commit(async () => {
    const located = scope && (await locate(table, accountId, scope));
    if (scope && !located) throw missingReference("resource_id", scope.type);
    const own = await namedRoles(table, accountId, grantable);
    // The plan is made first, and the same assignment is looked for afterwards. If another request adds the assignment
    // in between, the transaction fails. An error of the plan does not count if the subject has the same assignment
    // already.
    const author = { by: principal.id, now: now() };
    const planning = forSubject(subject, planAssignments(table, accountId, subject, [grantable], author));
    const [planned, unexpired] = await Promise.allSettled([
      planning,
      requireUnexpired(table, accountId, subject, author.now),
    ]);
    const same = await findSame(table, accountId, subject, grantable, now());
    const [existing] = same;
    // Before a role is deleted, the deletion checks that nobody holds the role. This write changes the version of the
    // roles. So a deletion that made its check before this transaction fails.
    const inUse = grantable.kind === "custom_role" ? [rolesWrite(accountId, own, own.roles)] : [];
    const withOtherEnd = same.filter(({ expires_at }) => expires_at !== grantable.expires_at);
    if (existing && withOtherEnd.length === 0) return { value: view(existing, own), writes: [], changes: [] };
    if (existing) {
      const { assignments: moved, ...plan } = await planNewEnds(table, accountId, withOtherEnd, grantable.expires_at);
      const after = moved.find(({ id }) => id === existing.id) ?? existing;
      return { value: view(after, own), writes: [...plan.writes, ...inUse], changes: plan.changes };
    }
    if (unexpired.status === "rejected") throw unexpired.reason;
    if (planned.status === "rejected") throw planned.reason;
    const { assignments, writes, changes } = planned.value;
    const [assignment] = assignments;
    if (!assignment) throw new Error("nothing was planned");
    return {
      value: view(assignment, own),
      writes: [...writes, ...(located?.present ? [located.present] : []), ...inUse],
      changes,
    };
  });
}

/**
 * The roles that the account has made, if `grantable` names one of them; otherwise no roles. Throws 422 if `grantable`
 * names a role that the account has not made.
 */
async function namedRoles(table: Reader, accountId: string, grantable: Grantable): Promise<RolesRecord> {
  if (grantable.kind !== "custom_role") return noRoles;
  const own = await readRoles(table, accountId);
  if (!Object.hasOwn(own.roles, grantable.custom_role)) {
    const keys = [...RoleKey.options, ...Object.keys(own.roles).toSorted()];
    const msg = `There is no such role in this account. The roles are: ${keys.join(", ")}`;
    throw invalidAt(["body", "role_key"], msg, "not_found");
  }
  return own;
}

/** The subject's assignments that give the same permission as `grantable` now. */
async function findSame(
  table: Reader,
  accountId: string,
  subject: Subject,
  grantable: Grantable,
  now: Date,
): Promise<Assignment[]> {
  const held = await readHeld(table, accountId, subject);
  const ownerIds = held?.owner_grant_id === undefined ? [] : [held.owner_grant_id];
  const rankIds = grantable.kind === "super_admin" ? await superAdminGrants(table, subject.id) : ownerIds;
  const grants = held?.grants.filter((grant) => grantMatches(grant, grantable)) ?? [];
  const ids = [...grants.map(({ id }) => id), ...rankIds];
  return (await getAssignments(table, accountId, ids)).filter(
    (assignment) => isSameAssignment(assignment, grantable) && isLive(assignment.expires_at, now.toISOString()),
  );
}

/** The item that `revoke` reads first. `revoke` reads the item twice. */
export const aheadOfRevocation = (accountId: string, id: string): Ahead => ({
  keys: [assignmentKey(accountId, "ASSIGNMENT", id), assignmentKey(accountId, "ASSIGNMENT", id)],
});

/**
 * Revokes an assignment whose kind is in `kinds`. Throws:
 * - 403 `would_escalate` if the assignment is ownership, and the caller is neither an owner nor a super admin;
 * - 403 `would_escalate` if the assignment is super admin, and the caller is not a super admin;
 * - 404 if the account has no such assignment, or if the assignment has ended by itself;
 * - 409 `last_owner` if the account would have no user whose ownership does not end.
 */
export async function revoke(
  accountId: string,
  id: string,
  kinds: readonly Assignment["kind"][],
  context: Context,
): Promise<void> {
  const { table, commit, now } = context;
  const read = async (): Promise<Assignment> => {
    const assignment = await getAssignment(table, accountId, id);
    if (!isLive(assignment.expires_at, now().toISOString())) throw notFound();
    return assignment;
  };
  const { kind } = await read();
  if (!kinds.includes(kind)) throw notFound();
  if (kind === "account_owner" || kind === "super_admin") {
    await requireToHold(context, accountId, [heldNow(kind, now())]);
  }
  await commit(async () => {
    const assignment = await read();
    const { subject_type: type, subject_id } = assignment;
    const holder = aheadOfHolder(accountId, { type, id: subject_id }, { leaves: true });
    const reader = kind === "super_admin" ? table : readerAhead(table, { keys: holder });
    return { value: undefined, ...(await planRevocation(reader, accountId, [assignment], now())) };
  });
}
