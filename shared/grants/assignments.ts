import * as z from "zod";

import type { Capability, RoleKey } from "../auth/capabilities.ts";
import { type HeldGrant, type Scope, capabilitiesOf, type ResourceType } from "../auth/permissions.ts";
import type { Change } from "../changes/kind.ts";
import { notFound, InvalidInput } from "../core/errors.ts";
import { timeOrderedId } from "../core/ids.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { type Assignment, StoredAssignment, assignmentChange } from "./assignment.ts";
import {
  type Held,
  type HolderChange,
  type Subject,
  planHolders,
  planOwnerAdded,
  planOwnerRemoved,
  planSuperAdmin,
} from "./holders.ts";

/*
 * An assignment is a grant of the specification or the assignment of a role.
 *
 * Access patterns
 *   assignments of an account, oldest first, and one by id   ACCOUNT#<id> / ASSIGNMENT#<id>
 *   revoked assignments                                      ACCOUNT#<id> / REVOKED#<id>
 *   assignments on one resource, to revoke with it           ACCOUNT#<id> / SCOPED#<type>#<resource id>#<id>
 */
export const assignmentKey = (accountId: string, kind: "ASSIGNMENT" | "REVOKED", id = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `${kind}#${id}`,
});
const scopedKey = (accountId: string, { type, id }: Scope, assignmentId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SCOPED#${type}#${id}#${assignmentId}`,
});

/**
 * A permission to give: ownership, super admin, or a capability or role on a scope (without one, the whole account).
 */
export type Grantable =
  | { kind: "account_owner" | "super_admin" }
  | { kind: "capability"; capability: Capability; scope?: Scope | undefined }
  | { kind: "role"; role: RoleKey; scope?: Scope | undefined };

/** The id of the giver, and the time. */
type Author = { by: string; now: Date };

/** Plans new assignments for one subject, from fresh reads and for one transaction. */
export async function planAssignments(
  table: Reader,
  accountId: string,
  subject: Subject,
  given: readonly Grantable[],
  { by, now }: Author,
): Promise<{ assignments: Assignment[]; writes: Write[]; changes: Change[] }> {
  const assignments = given.map((one): Assignment => ({
    id: timeOrderedId(now),
    subject_type: subject.type,
    subject_id: subject.id,
    created_at: now.toISOString(),
    created_by: by,
    ...one,
  }));
  const changes = assignments.map((assignment) => ({
    subject,
    change: (held: Held) => withAssignment(held, assignment),
  }));
  const writes = [
    ...assignments.flatMap((assignment) => itemWrites(accountId, assignment)),
    ...(await planHolders(
      table,
      accountId,
      changes.filter((_, index) => assignments[index]?.kind !== "super_admin"),
    )),
    ...(await rankWrites(table, accountId, assignments, planOwnerAdded, (grants, id) => [...grants, id])),
  ];
  return { assignments, writes, changes: assignments.map((one) => assignmentChange("created", one)) };
}

function itemWrites(accountId: string, assignment: Assignment): Write[] {
  const { id, scope } = assignment;
  const pointer: Write[] = scope ? [{ put: { ...scopedKey(accountId, scope, id), assignment_id: id } }] : [];
  return [{ put: { ...assignmentKey(accountId, "ASSIGNMENT", id), ...assignment }, if: "absent" }, ...pointer];
}

function withAssignment(held: Held, { id, kind, capability, role, scope }: Assignment): Held {
  if (kind === "account_owner") return { ...held, owner_grant_id: id };
  const grant: HeldGrant = {
    id,
    ...(capability ? { capability } : {}),
    ...(role ? { role } : {}),
    ...(scope ? { scope } : {}),
  };
  return { ...held, grants: [...held.grants, grant] };
}

function withoutAssignment({ owner_grant_id, ...held }: Held, { id }: Assignment): Held {
  const kept = owner_grant_id === undefined || owner_grant_id === id ? {} : { owner_grant_id };
  return { ...held, ...kept, grants: held.grants.filter((grant) => grant.id !== id) };
}

/** The writes to the owners of the account, and to the grants that make users super admins. */
async function rankWrites(
  table: Reader,
  accountId: string,
  assignments: readonly Assignment[],
  planOwner: typeof planOwnerAdded,
  change: (grants: string[], id: string) => string[],
): Promise<Write[]> {
  const planned = assignments.map(async ({ id, kind, subject_type, subject_id }) => {
    if (kind === "super_admin") return [await planSuperAdmin(table, subject_id, (grants) => change(grants, id))];
    return kind === "account_owner" && subject_type === "user" ? [await planOwner(table, accountId, subject_id)] : [];
  });
  return (await Promise.all(planned)).flat();
}

/**
 * Plans the revocation of assignments, and moves them to the list of revoked assignments. `also` are further changes of
 * holders in the same transaction.
 */
export async function planRevocation(
  table: Reader,
  accountId: string,
  assignments: readonly Assignment[],
  now: Date,
  also: readonly HolderChange[] = [],
): Promise<{ writes: Write[]; changes: Change[] }> {
  const held = assignments.filter(({ kind }) => kind !== "super_admin");
  const changes = held.map((assignment): HolderChange => ({
    subject: { type: assignment.subject_type, id: assignment.subject_id },
    change: (before) => withoutAssignment(before, assignment),
  }));
  const writes = [
    ...revokedItems(accountId, assignments, now),
    ...(await planHolders(table, accountId, [...changes, ...also])),
    ...(await rankWrites(table, accountId, assignments, planOwnerRemoved, (grants, id) =>
      grants.filter((one) => one !== id),
    )),
  ];
  return { writes, changes: assignments.map((one) => assignmentChange("revoked", one, now)) };
}

/** The writes that move assignments to the list of revoked assignments. */
function revokedItems(accountId: string, assignments: readonly Assignment[], now: Date): Write[] {
  return assignments.flatMap((assignment): Write[] => {
    const { id, scope } = assignment;
    const revoked = { ...assignment, revoked_at: now.toISOString() };
    return [
      { delete: assignmentKey(accountId, "ASSIGNMENT", id), if: "present" },
      { put: { ...assignmentKey(accountId, "REVOKED", id), ...revoked } },
      ...(scope ? [{ delete: scopedKey(accountId, scope, id) }] : []),
    ];
  });
}

/** The live assignment with this id. Throws 404. */
export async function getAssignment(table: Reader, accountId: string, id: string): Promise<Assignment> {
  const assignment = await table.get(assignmentKey(accountId, "ASSIGNMENT", id), StoredAssignment);
  if (!assignment) throw notFound();
  return assignment;
}

/** The live assignments among these ids. */
export async function getAssignments(table: Reader, accountId: string, ids: readonly string[]): Promise<Assignment[]> {
  const items = await table.getMany(ids.map((id) => assignmentKey(accountId, "ASSIGNMENT", id)));
  return items.flatMap((item) => (item ? [StoredAssignment.parse(item)] : []));
}

/** The items that `listAssignments` reads first. */
export function aheadOfAssignments(accountId: string): Ahead {
  const [from, to] = ["", "~"].map((id) => assignmentKey(accountId, "ASSIGNMENT", id).SK);
  return { ranges: [{ partition: assignmentKey(accountId, "ASSIGNMENT").PK, from: from ?? "", to: to ?? "" }] };
}

/** All assignments of an account, oldest first, with the revoked ones if `includeRevoked` is set. */
export async function listAssignments(
  table: Reader,
  accountId: string,
  includeRevoked: boolean,
): Promise<Assignment[]> {
  const { PK } = assignmentKey(accountId, "ASSIGNMENT");
  const read = async (kind: "ASSIGNMENT" | "REVOKED"): Promise<Assignment[]> => {
    const items = await table.between(PK, assignmentKey(accountId, kind).SK, assignmentKey(accountId, kind, "~").SK);
    return items.map((item) => StoredAssignment.parse(item));
  };
  const live = await read("ASSIGNMENT");
  if (!includeRevoked) return live;
  // The revoked ones are read last. An assignment that is revoked in between is then read twice instead of missed.
  const byId = new Map([...live, ...(await read("REVOKED"))].map((one) => [one.id, one]));
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

const AssignmentPointer = z.object({ assignment_id: z.string() });

/** The range that `assignmentsOn` reads. */
export function assignmentsRange(accountId: string, scope: Scope): { partition: string; from: string; to: string } {
  const { PK, SK } = scopedKey(accountId, scope);
  return { partition: PK, from: SK, to: `${SK}~` };
}

/** The live assignments that are narrowed to one resource. */
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
 * The number of grants that one transaction revokes in addition to its other work. The rest is revoked in further
 * transactions.
 */
const grantsAtOnce = 10;

/** Plans the revocation of the first few grants on a resource that is deleted. `isAll` says that there are no more. */
export async function planPurge(
  table: Reader,
  accountId: string,
  scope: Scope,
  now: Date,
): Promise<{ isAll: boolean; writes: Write[]; changes: Change[] }> {
  const bound = await assignmentsOn(table, accountId, scope);
  const isAll = bound.length <= grantsAtOnce;
  return { isAll, ...(await planRevocation(table, accountId, bound.slice(0, grantsAtOnce), now)) };
}

const workspace = ["workspace"] as const;
const domain = ["workspace", "domain"] as const;
const mailbox = ["workspace", "domain", "mailbox"] as const;
const credential = ["workspace", "domain", "credential"] as const;
const forwarding = ["workspace", "domain", "forwarding"] as const;

/**
 * The types of resources to which a capability can be narrowed and still allow something. A capability that is not
 * listed can only be given on the whole account.
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

/** Throws 422 for a capability or role that allows nothing on the resource to which it is narrowed. */
export function requireEffect(given: Grantable): void {
  if (given.kind !== "capability" && given.kind !== "role") return;
  const { scope } = given;
  if (scope === undefined || scope.type === "account") return;
  const types = [...new Set(capabilitiesOf(given).flatMap((capability) => scopeTypes[capability] ?? []))];
  if (types.includes(scope.type)) return;
  const [member, name] = given.kind === "role" ? ["role_key", given.role] : ["capability_key", given.capability];
  const narrower = types.length > 0 ? `, or on one ${types.join(" or ")}` : "";
  const msg = `${name} has no effect on a ${scope.type}. Give it on the account${narrower}`;
  throw new InvalidInput([{ loc: ["body", member], msg, type: "value_error" }]);
}
