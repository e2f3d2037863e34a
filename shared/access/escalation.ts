import {
  accessKey,
  AccessRecord,
  groupsKey,
  GroupsRecord,
  isOwner,
  noGroups,
  noRoles,
  rolesKey,
  RolesRecord,
  superAdminOf,
  withAncestors,
  type GrantHolder,
} from "../accounts/standing.ts";
import type { Capability } from "../auth/capabilities.ts";
import {
  capabilitiesOf,
  covers,
  isLive,
  lastingUntil,
  type EffectiveGrant,
  type Permissions,
  type Scope,
} from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { notFound, Problem } from "../core/errors.ts";
import { deletedOrRestored } from "../mail/mailboxes/deleted.ts";
import { scopesOfMailbox } from "../mail/mailboxes/find.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { locate } from "./scopes.ts";

type Rank = "account_owner" | "super_admin";

/**
 * A permission to give or revoke: a capability or role on a scope, ownership, or super admin. A permission with
 * `expires_at` ends at that time. Any other permission does not end.
 */
export type Permission =
  | Pick<EffectiveGrant, "capability" | "role" | "custom_role" | "capabilities" | "scope" | "expires_at">
  | Rank
  | { rank: Rank; expires_at?: string | undefined };

/** The principal who gives or revokes permissions, usually the caller, with the principal's own permissions. */
type Giver = { permissions: Permissions; principal: Principal; table: Reader; now: () => Date };

const endOf = (permission: Permission): string | undefined =>
  typeof permission === "string" ? undefined : permission.expires_at;

function rankOf(permission: Permission): Rank | undefined {
  if (typeof permission === "string") return permission;
  return "rank" in permission ? permission.rank : undefined;
}

/**
 * Requires that the giver holds each of `permissions`, on the same scope or a wider scope, at least until that
 * permission ends. Only owners and super admins hold ownership. Only super admins hold super admin. Throws 403
 * `would_escalate` with the names of the missing permissions.
 */
export async function requireToHold(
  giver: Giver,
  accountId: string,
  permissions: readonly Permission[],
): Promise<void> {
  const lacking = permissions.map(async (permission) => ({
    permission,
    names: await missingNames(giver, accountId, permission),
  }));
  const missing = (await Promise.all(lacking)).filter(({ names }) => names.length > 0);
  if (missing.length === 0) return;
  // Authorization asks whether the caller is a super admin only if the caller's other permissions are not enough. So
  // the giver can be a super admin although `giver.permissions` do not say so.
  const rank = await superAdminOf(giver.table, giver.principal, giver.now());
  const lacked = rank ? missing.filter(({ permission }) => !isWithin(endOf(permission), rank.until)) : missing;
  if (lacked.length === 0) return;
  const names = [...new Set(lacked.flatMap((one) => one.names))].toSorted();
  // A super admin holds everything now.
  const notHeld = rank ? new Set() : await namesNotHeldNow(giver, accountId, lacked);
  const [absent, ending] = [names.filter((name) => notHeld.has(name)), names.filter((name) => !notHeld.has(name))];
  const texts = [
    absent.length > 0
      ? `You do not hold ${absent.join(", ")} on this scope or on a wider one. Only a caller who holds all that the call needs can make it.`
      : [],
    ending.length > 0 ? `Your own ${ending.join(", ")} ends sooner, so you cannot give it to others for longer.` : [],
  ];
  throw new Problem("would_escalate", texts.flat().join(" "), { missing: names });
}

/** Whether the time `end` is not later than the time `limit`. An undefined time means that there is no end. */
const isWithin = (end: string | undefined, limit: string | undefined): boolean =>
  limit === undefined || (end !== undefined && end <= limit);

/** The names in `permissions` that the giver does not hold even now, on the same scope or on a wider one. */
async function namesNotHeldNow(
  giver: Giver,
  accountId: string,
  permissions: readonly { permission: Permission }[],
): Promise<ReadonlySet<string>> {
  const expires_at = giver.now().toISOString();
  const found = permissions.map(({ permission }) => {
    const now = typeof permission === "string" ? { rank: permission, expires_at } : { ...permission, expires_at };
    return missingNames(giver, accountId, now);
  });
  return new Set((await Promise.all(found)).flat());
}

/**
 * Whether `giver.permissions` include a permission, on the same scope or on a wider one. Unlike `requireToHold`, this
 * does not look up whether the giver is a super admin.
 */
export const isHeld = async (giver: Giver, accountId: string, permission: Permission): Promise<boolean> =>
  (await missingNames(giver, accountId, permission)).length === 0;

/**
 * The names of what the giver lacks for a permission. For a capability or role, these are the capabilities that the
 * giver does not hold. For a rank, this is the rank, if the giver does not hold it.
 */
async function missingNames(giver: Giver, accountId: string, permission: Permission): Promise<readonly string[]> {
  const { table } = giver;
  const permissions = lastingUntil(giver.permissions, endOf(permission));
  const rank = rankOf(permission);
  if (rank === "super_admin") return permissions.superAdmin ? [] : [rank];
  if (permissions.everything) return [];
  if (rank !== undefined) return [rank];
  // Never true, because `rank` is undefined here. TypeScript needs this check.
  if (typeof permission === "string" || "rank" in permission) return [];
  const { scope } = permission;
  const scopes = scope ? await scopesOf(table, accountId, scope) : [];
  if (scopes === undefined) return [];
  return (await allCapabilities(table, accountId, permission)).filter(
    (capability) => !covers(permissions, capability, scopes),
  );
}

/**
 * The scope, and the scopes that contain it. Undefined if the resource of the scope was deleted, because a grant on a
 * deleted resource gives nothing. For a mailbox, the result is never undefined, because a deleted mailbox can be
 * restored, and then the grant is valid again. For a purged mailbox, the result is only the mailbox's own scope.
 */
async function scopesOf(table: Reader, accountId: string, scope: Scope): Promise<Scope[] | undefined> {
  const located = await locate(table, accountId, scope);
  if (located || scope.type !== "mailbox") return located?.scopes;
  const deleted = await deletedOrRestored(table, accountId, scope.id);
  return deleted ? scopesOfMailbox(deleted) : [scope];
}

/** The capabilities of a permission. Reads the role if the account has made it. */
async function allCapabilities(
  table: Reader,
  accountId: string,
  permission: Exclude<Permission, Rank | { rank: Rank }>,
): Promise<readonly Capability[]> {
  const { custom_role: key } = permission;
  if (key === undefined) return capabilitiesOf(permission);
  const { roles } = (await table.get(rolesKey(accountId), RolesRecord)) ?? noRoles;
  return Object.hasOwn(roles, key) ? (roles[key]?.capabilities ?? []) : [];
}

/** The grants and the ownership of a holder. Leaves out grants and ownership that have ended at the time `at`. */
function permissionsIn(holder: GrantHolder, at: string): Permission[] {
  const { grants, owner_expires_at: expires_at } = holder;
  const ownership: Permission = expires_at === undefined ? "account_owner" : { rank: "account_owner", expires_at };
  return [...grants.filter((grant) => isLive(grant.expires_at, at)), ...(isOwner(holder, at) ? [ownership] : [])];
}

/** The permissions that a member of a group gets: the permissions of the group and of all groups above it. */
export function permissionsOfGroup(groups: GroupsRecord, groupId: string, now: Date): Permission[] {
  return withAncestors(groups, [groupId]).flatMap((id): Permission[] => {
    const holder = groups.groups[id];
    return holder ? permissionsIn(holder, now.toISOString()) : [];
  });
}

/**
 * The permission that a caller must hold to take away the ownership in `permissions`. The list is empty if
 * `permissions` has no ownership. Only owners and super admins hold this permission.
 */
export const ownershipIn = (permissions: readonly Permission[], now: Date): Permission[] =>
  permissions.some((permission) => rankOf(permission) === "account_owner") ? [heldNow("account_owner", now)] : [];

/**
 * The permission that a caller must hold to take a rank away. The caller must have the rank now, but the rank may end
 * at any time after now.
 */
export const heldNow = (rank: Rank, now: Date): Permission => ({ rank, expires_at: now.toISOString() });

/**
 * All permissions of a service account, and the writes that make a transaction fail if the permissions have changed
 * after this read. Throws 404 if the service account has no access record.
 */
export async function permissionsOfServiceAccount(
  table: Reader,
  accountId: string,
  id: string,
  now: Date,
): Promise<{ permissions: Permission[]; unchanged: Write[] }> {
  const key = accessKey(accountId, { type: "service_account", id });
  const record = await table.get(key, AccessRecord);
  if (!record) throw notFound();
  const isMember = record.groups.length > 0;
  const groups = (isMember ? await table.get(groupsKey(accountId), GroupsRecord) : undefined) ?? noGroups;
  const permissions = [
    ...permissionsIn(record, now.toISOString()),
    ...record.groups.flatMap((group) => permissionsOfGroup(groups, group, now)),
  ];
  const unchangedGroups: Write[] = [{ check: groupsKey(accountId), if: { version: groups.version } }];
  return {
    permissions,
    unchanged: [{ check: key, if: { version: record.version } }, ...(isMember ? unchangedGroups : [])],
  };
}
