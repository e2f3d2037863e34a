import * as z from "zod";

import { noRoles, rolesOf, type RolesRecord } from "../accounts/standing.ts";
import type { Capability, RoleKey } from "../auth/capabilities.ts";
import { type HeldGrant, isLive, type Scope, capabilitiesOf, type ResourceType } from "../auth/permissions.ts";
import type { Profile } from "../auth/principal.ts";
import type { Change } from "../changes/kind.ts";
import { ttlOfEnded } from "../changes/record.ts";
import { invalidAt, notFound } from "../core/errors.ts";
import { timeOrderedId } from "../core/ids.ts";
import { dueWrite, type Queue } from "../table/due.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Range } from "../table/reads.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { type Assignment, StoredAssignment, assignmentChange, endChange, endedAssignment } from "./assignment.ts";
import {
  type Held,
  type HolderChange,
  type Subject,
  planHolders,
  planOwnerAdded,
  planOwnerRemoved,
  planSuperAdmin,
  readHeld,
} from "./holders.ts";

/*
 * Access patterns
 *   assignments of an account, oldest first, and one by id      ACCOUNT#<id> / ASSIGNMENT#<id>
 *   revoked assignments                                         ACCOUNT#<id> / REVOKED#<id>
 *   assignments on a resource, to revoke when it is deleted     ACCOUNT#<id> / SCOPED#<type>#<resource id>#<id>
 *   assignments that end by themselves, by their end            GRANT_DUE#<shard>
 */
/**
 * The queue of the assignments that end by themselves, by the time of their end. If an assignment is revoked or gets
 * another end, the task for its former end stays in the queue until it is due. The queue also has the tasks for the
 * notices before a service account expires, and for its revocation 400 days after it has expired.
 */
export const grantQueue: Queue = { name: "GRANT_DUE", shards: 4 };

/** The key of an assignment. */
export const assignmentKey = (accountId: string, kind: "ASSIGNMENT" | "REVOKED", id = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `${kind}#${id}`,
});
const scopedKey = (accountId: string, { type, id }: Scope, assignmentId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SCOPED#${type}#${id}#${assignmentId}`,
});

/**
 * A permission to give: ownership, super admin, or a capability or role on a scope. The default scope is the whole
 * account. The permission ends at `expires_at`, or never. A `custom_role` is the key of a role that the account has
 * made.
 */
export type Grantable = { expires_at?: string | undefined } & (
  | { kind: "account_owner" }
  | { kind: "super_admin" }
  | { kind: "capability"; capability: Capability; scope?: Scope | undefined }
  | { kind: "role"; role: RoleKey; scope?: Scope | undefined }
  | { kind: "custom_role"; custom_role: string; scope?: Scope | undefined }
);

/** The id of the giver, and the time. */
type Author = { by: string; now: Date };

/** An assignment that gets another end. If `expires_at` is undefined, the assignment does not end any more. */
export type NewEnd = { before: Assignment; expires_at: string | undefined };

/**
 * Plans new assignments for one subject, and new end times for capabilities and roles that the subject holds (`ends`),
 * in one transaction. Stores `profile`, if the subject is a user. Throws:
 * - 404 for a group or service account that the account does not have;
 * - 409 `limit_reached` if the subject would have too many grants, if the groups of the account would not fit into one
 *   item, or if the account would have too many owners.
 */
export async function planAssignments(
  table: Reader,
  accountId: string,
  subject: Subject,
  grantables: readonly Grantable[],
  { by, now }: Author,
  profile: Profile = {},
  ends: readonly NewEnd[] = [],
): Promise<{ assignments: Assignment[]; writes: Write[]; changes: Change[] }> {
  const assignments = grantables.map((grantable): Assignment => ({
    id: timeOrderedId(now),
    subject_type: subject.type,
    subject_id: subject.id,
    created_at: now.toISOString(),
    created_by: by,
    ...grantable,
  }));
  const additions = assignments.map((assignment) => ({
    subject,
    change: (held: Held) => ({ ...withAssignment(withoutEnded(held, now), assignment), ...profile }),
  }));
  const moved = ends.map((end) => ({ ...end, after: withEnd(end) }));
  const moves = moved.map(({ before, after }) => ({
    subject,
    change: (held: Held) => ({ ...withAssignment(withoutAssignment(held, before), after), ...profile }),
  }));
  const writes = [
    ...assignments.flatMap((assignment) => itemWrites(accountId, assignment)),
    ...moved.flatMap(({ before, after }) => endWrites(accountId, before, after)),
    ...(await planHolders(table, accountId, [
      ...additions.filter((_, index) => assignments[index]?.kind !== "super_admin"),
      ...moves,
    ])),
    ...(await rankWrites(table, accountId, assignments, planOwnerAdded, (grants, id) => [...grants, id])),
  ];
  const own = await rolesOf(table, accountId, [...assignments, ...moved.map(({ after }) => after)]);
  return {
    assignments,
    writes,
    changes: [
      ...assignments.map((assignment) => assignmentChange(undefined, assignment, own)),
      ...moved.map(({ before, after }) => assignmentChange(before, after, own)),
    ],
  };
}

/**
 * Plans a new end time for the assignments `same`, which have not ended and give one subject the same permission. There
 * can be several of them, because earlier versions of the product made equal assignments. Throws:
 * - 404 for a group or service account that the account does not have;
 * - 409 `last_owner` if the subject is the only user whose ownership does not end, and this ownership would get an end;
 * - 409 `limit_reached` if the account would have too many owners whose ownership does not end, or if the groups of the
 *   account would not fit into one item.
 */
export async function planNewEnds(
  table: Reader,
  accountId: string,
  same: readonly Assignment[],
  expires_at: string | undefined,
): Promise<{ assignments: Assignment[]; writes: Write[]; changes: Change[] }> {
  const moved = same.map((before) => ({ before, after: withEnd({ before, expires_at }) }));
  const [first] = same;
  if (!first) return { assignments: [], writes: [], changes: [] };
  const { kind, subject_type: type, subject_id: id } = first;
  const moves = moved.map(({ before, after }) => ({
    subject: { type, id },
    change: (held: Held): Held => withAssignment(withoutAssignment(held, before), after),
  }));
  const ends = Object.fromEntries(same.map((assignment) => [assignment.id, expires_at]));
  const isUserOwner = kind === "account_owner" && type === "user";
  const writes = [
    ...moved.flatMap(({ before, after }) => endWrites(accountId, before, after)),
    ...(kind === "super_admin"
      ? [await planSuperAdmin(table, id, (grants) => grants, ends)]
      : await planHolders(table, accountId, moves)),
    ...(isUserOwner && first.expires_at === undefined ? [await planOwnerRemoved(table, accountId, id)] : []),
    ...(isUserOwner && expires_at === undefined ? [await planOwnerAdded(table, accountId, id)] : []),
  ];
  const own = await rolesOf(table, accountId, same);
  return {
    assignments: moved.map(({ after }) => after),
    writes,
    changes: moved.map(({ before, after }) => assignmentChange(before, after, own)),
  };
}

function withEnd({ before: { expires_at: _, ...lasting }, expires_at }: NewEnd): Assignment {
  return { ...lasting, ...(expires_at === undefined ? {} : { expires_at }) };
}

/**
 * The writes to the row and the task of an assignment that gets another end. The transaction fails if the assignment is
 * gone, or if it had an end and this end has changed since it was read.
 */
const endWrites = (accountId: string, before: Assignment, after: Assignment): Write[] => [
  { put: { ...assignmentKey(accountId, "ASSIGNMENT", after.id), ...after }, if: sameEnd(before) },
  ...dueWrites(accountId, after),
];

/** The condition that an assignment exists. If it had an end when it was read, it must still have the same end. */
const sameEnd = ({ expires_at }: Assignment): "present" | { expires_at: string } =>
  expires_at === undefined ? "present" : { expires_at };

const dueWrites = (accountId: string, { id, expires_at }: Assignment): Write[] =>
  expires_at === undefined ? [] : [dueWrite(grantQueue, [accountId, id], expires_at)];

function itemWrites(accountId: string, assignment: Assignment): Write[] {
  const { id, scope } = assignment;
  const pointer: Write[] = scope ? [{ put: { ...scopedKey(accountId, scope, id), assignment_id: id } }] : [];
  return [
    { put: { ...assignmentKey(accountId, "ASSIGNMENT", id), ...assignment }, if: "absent" },
    ...pointer,
    ...dueWrites(accountId, assignment),
  ];
}

function withAssignment(held: Held, { id, kind, capability, role, custom_role, scope, expires_at }: Assignment): Held {
  if (kind === "account_owner") {
    const { owner_expires_at: _, ...others } = held;
    return { ...others, owner_grant_id: id, ...(expires_at === undefined ? {} : { owner_expires_at: expires_at }) };
  }
  const grant: HeldGrant = {
    id,
    ...(capability ? { capability } : {}),
    ...(role ? { role } : {}),
    ...(custom_role === undefined ? {} : { custom_role }),
    ...(scope ? { scope } : {}),
    ...(expires_at === undefined ? {} : { expires_at }),
  };
  return { ...held, grants: [...held.grants, grant] };
}

function withoutAssignment(held: Held, { id }: Assignment): Held {
  const grants = held.grants.filter((grant) => grant.id !== id);
  if (held.owner_grant_id !== id) return { ...held, grants };
  const { owner_grant_id: _, owner_expires_at: __, ...others } = held;
  return { ...others, grants };
}

/**
 * The holder's permissions without grants that have ended. So ended grants do not count towards the limit. A worker
 * ends their assignments later.
 */
const withoutEnded = (held: Held, now: Date): Held => ({
  ...held,
  grants: held.grants.filter(({ expires_at }) => isLive(expires_at, now.toISOString())),
});

/**
 * The writes to the list of the account's owners, and to the super admin grants of users. The list has only users whose
 * ownership does not end.
 */
async function rankWrites(
  table: Reader,
  accountId: string,
  assignments: readonly Assignment[],
  planOwner: typeof planOwnerAdded,
  change: (grants: string[], id: string) => string[],
): Promise<Write[]> {
  const planned = assignments.map(async ({ id, kind, subject_type, subject_id, expires_at }) => {
    if (kind === "super_admin") {
      return [await planSuperAdmin(table, subject_id, (grants) => change(grants, id), { [id]: expires_at })];
    }
    const isLastingOwner = kind === "account_owner" && subject_type === "user" && expires_at === undefined;
    return isLastingOwner ? [await planOwner(table, accountId, subject_id)] : [];
  });
  return (await Promise.all(planned)).flat();
}

/**
 * Plans the revocation of assignments, and moves them to the list of revoked assignments. Assignments that have ended
 * by themselves are recorded as expired. `otherChanges` are changes of holders to make in the same transaction. Throws
 * 409 `last_owner` if the account would have no user whose ownership does not end.
 */
export async function planRevocation(
  table: Reader,
  accountId: string,
  assignments: readonly Assignment[],
  now: Date,
  otherChanges: readonly HolderChange[] = [],
): Promise<{ writes: Write[]; changes: Change[] }> {
  const held = await heldAmong(table, accountId, assignments, now);
  const removals = held.map((assignment): HolderChange => ({
    subject: { type: assignment.subject_type, id: assignment.subject_id },
    change: (before) => withoutAssignment(before, assignment),
  }));
  const [holders, ranks, own] = await Promise.all([
    planHolders(table, accountId, [...removals, ...otherChanges]),
    rankWrites(table, accountId, assignments, planOwnerRemoved, (grants, id) =>
      grants.filter((grantId) => grantId !== id),
    ),
    rolesOf(table, accountId, assignments),
  ]);
  const writes = [...revokedItems(accountId, assignments, now), ...holders, ...ranks];
  return { writes, changes: assignments.map((assignment) => endChange(assignment, own, now)) };
}

/**
 * The assignments that are still in the records of their holders. Super admin is never in these records. After the end
 * of an assignment, a change of the holder may have dropped the assignment already, and the holder may be gone.
 */
async function heldAmong(
  table: Reader,
  accountId: string,
  assignments: readonly Assignment[],
  now: Date,
): Promise<Assignment[]> {
  const found = assignments.map(async (assignment) => {
    const { id, kind, subject_type, subject_id, expires_at } = assignment;
    if (kind === "super_admin") return [];
    if (isLive(expires_at, now.toISOString())) return [assignment];
    const holder = await readHeld(table, accountId, { type: subject_type, id: subject_id });
    const isHeld = holder?.owner_grant_id === id || holder?.grants.some((grant) => grant.id === id);
    return isHeld ? [assignment] : [];
  });
  return (await Promise.all(found)).flat();
}

/**
 * The writes that move assignments to the list of revoked assignments, for 400 days. Rows that earlier versions of the
 * product moved have no `ttl`, so they stay.
 */
function revokedItems(accountId: string, assignments: readonly Assignment[], now: Date): Write[] {
  const ttl = ttlOfEnded(now);
  return assignments.flatMap((assignment): Write[] => {
    const { id, scope } = assignment;
    return [
      { delete: assignmentKey(accountId, "ASSIGNMENT", id), if: sameEnd(assignment) },
      { put: { ...assignmentKey(accountId, "REVOKED", id), ...endedAssignment(assignment, now), ttl } },
      ...(scope ? [{ delete: scopedKey(accountId, scope, id) }] : []),
    ];
  });
}

/** The assignment with this id, which may have ended already. Throws 404 if there is none, or if it was revoked. */
export async function getAssignment(table: Reader, accountId: string, id: string): Promise<Assignment> {
  const assignment = await table.get(assignmentKey(accountId, "ASSIGNMENT", id), StoredAssignment);
  if (!assignment) throw notFound();
  return assignment;
}

/** The assignments with these ids, without those that were revoked. Some may have ended already. */
export async function getAssignments(table: Reader, accountId: string, ids: readonly string[]): Promise<Assignment[]> {
  const items = await table.getMany(ids.map((id) => assignmentKey(accountId, "ASSIGNMENT", id)));
  return items.flatMap((item) => (item ? [StoredAssignment.parse(item)] : []));
}

/** The items that `listAssignments` reads first. */
export function aheadOfAssignments(accountId: string): Ahead {
  const [from, to] = ["", "~"].map((id) => assignmentKey(accountId, "ASSIGNMENT", id).SK);
  return { ranges: [{ partition: assignmentKey(accountId, "ASSIGNMENT").PK, from: from ?? "", to: to ?? "" }] };
}

/**
 * The assignments of an account that are in force, oldest first. With `includeRevoked`, also the assignments that were
 * revoked or have ended in the last 400 days.
 */
export async function listAssignments(
  table: Reader,
  accountId: string,
  includeRevoked: boolean,
  now: Date,
): Promise<Assignment[]> {
  const { PK } = assignmentKey(accountId, "ASSIGNMENT");
  const read = async (kind: "ASSIGNMENT" | "REVOKED"): Promise<Assignment[]> => {
    const items = await table.between(PK, assignmentKey(accountId, kind).SK, assignmentKey(accountId, kind, "~").SK);
    return items.map((item) => StoredAssignment.parse(item));
  };
  const isInForce = ({ expires_at }: Assignment): boolean => isLive(expires_at, now.toISOString());
  const stored = await read("ASSIGNMENT");
  if (!includeRevoked) return stored.filter(isInForce);
  const live = stored.map((assignment) => (isInForce(assignment) ? assignment : endedAssignment(assignment, now)));
  // Reads the revoked assignments last. So an assignment that is revoked in between is read twice instead of missed.
  const byId = new Map([...live, ...(await read("REVOKED"))].map((assignment) => [assignment.id, assignment]));
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

const AssignmentPointer = z.object({ assignment_id: z.string() });

/** The range that `assignmentsOn` reads. */
function assignmentsRange(accountId: string, scope: Scope): Range {
  const { PK, SK } = scopedKey(accountId, scope);
  return { partition: PK, from: SK, to: `${SK}~` };
}

/** The assignments that are limited to one resource, without those that were revoked. Some may have ended already. */
export async function assignmentsOn(table: Reader, accountId: string, scope: Scope): Promise<Assignment[]> {
  const { partition, from, to } = assignmentsRange(accountId, scope);
  const pointers = await table.between(partition, from, to);
  return getAssignments(
    table,
    accountId,
    pointers.map((item) => AssignmentPointer.parse(item).assignment_id),
  );
}

/**
 * The most grants that a transaction revokes when it deletes their resource. Each revocation takes up to nine of the
 * 100 writes of a transaction.
 */
export const grantsPerTransaction = 8;

/**
 * Plans the revocation of up to eight grants on a resource that is deleted. `isAll` tells whether these are all grants
 * on the resource.
 */
export async function planPurge(
  table: Reader,
  accountId: string,
  scope: Scope,
  now: Date,
): Promise<{ isAll: boolean; writes: Write[]; changes: Change[] }> {
  const assignments = await assignmentsOn(table, accountId, scope);
  const isAll = assignments.length <= grantsPerTransaction;
  return { isAll, ...(await planRevocation(table, accountId, assignments.slice(0, grantsPerTransaction), now)) };
}

const workspace = ["workspace"] as const;
const domain = ["workspace", "domain"] as const;
const mailbox = ["workspace", "domain", "mailbox"] as const;
const credential = ["workspace", "domain", "credential"] as const;
const forwarding = ["workspace", "domain", "mailbox", "forwarding"] as const;

/**
 * The types of resources on which each capability can be given alone, without a role. A capability that is not listed
 * can be given alone only on the whole account.
 */
export const scopeTypes: Partial<Record<Capability, readonly ResourceType[]>> = {
  "workspace.view": workspace,
  "workspace.manage": workspace,
  "domain.view": domain,
  "domain.update": domain,
  "domain.move": domain,
  "domain.purchase": domain,
  "domain.delete": domain,
  "dns.view": domain,
  "dns.manage": domain,
  "mailbox.view": mailbox,
  "mailbox.create": domain,
  "mailbox.update": mailbox,
  "mailbox.delete": mailbox,
  "mailbox.export": mailbox,
  "mailbox.reveal": mailbox,
  "credential.view": credential,
  "credential.manage": credential,
  "forwarding.view": forwarding,
  "forwarding.manage": forwarding,
  "ip.view": domain,
  "ip.assign": domain,
};

/** The capabilities that a grantable gives. `own` are the roles of the account. */
export function capabilitiesGiven(grantable: Grantable, own: RolesRecord): readonly Capability[] {
  if (grantable.kind === "account_owner" || grantable.kind === "super_admin") return [];
  if (grantable.kind !== "custom_role") return capabilitiesOf(grantable);
  const { custom_role: key } = grantable;
  return Object.hasOwn(own.roles, key) ? (own.roles[key]?.capabilities ?? []) : [];
}

/**
 * Throws 422 for a capability or role that has no effect on its scope. `held` are the capabilities that `grantable`
 * gives.
 */
export function requireEffect(
  grantable: Grantable,
  held: readonly Capability[] = capabilitiesGiven(grantable, noRoles),
): void {
  if (grantable.kind === "account_owner" || grantable.kind === "super_admin") return;
  const { scope } = grantable;
  if (scope === undefined || scope.type === "account") return;
  const types = [...new Set(held.flatMap((capability) => scopeTypes[capability] ?? []))];
  if (types.includes(scope.type)) return;
  const [member, name] =
    grantable.kind === "capability"
      ? ["capability_key", grantable.capability]
      : ["role_key", grantable.kind === "role" ? grantable.role : grantable.custom_role];
  const narrower = types.length > 0 ? `, or on one ${types.join(" or ")}` : "";
  const msg = `${name} has no effect on a ${scope.type}. Give it on the account${narrower}`;
  throw invalidAt(["body", member], msg);
}
