import * as z from "zod";

import { Capability } from "../auth/capabilities.ts";
import { type EffectiveGrant, HeldGrant, isLive, latestEnd, type Permissions } from "../auth/permissions.ts";
import { Profile, type Principal } from "../auth/principal.ts";
import type { Seen } from "../table/seen-items.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Key } from "../table/writes.ts";
import { accountKey, type AccountStatus, type Debt, StoredStatus } from "./account.ts";

/*
 * Access patterns
 *   the grants and groups of a user or service account   ACCOUNT#<id> / ACCESS#<subject type>#<subject id>
 *   the grants and parents of all groups of an account   ACCOUNT#<id> / GROUPS
 *   the roles that an account has made                   ACCOUNT#<id> / ROLES
 *   whether a user is a super admin, and the accounts    USER#<id> / USER
 *   in which all access of the user ends
 */
export const accessKey = (accountId: string, subject: { type: string; id: string }): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ACCESS#${subject.type}#${subject.id}`,
});
export const groupsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "GROUPS" });
export const rolesKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "ROLES" });
export const userKey = (userId: string): Key => ({ PK: `USER#${userId}`, SK: "USER" });

/** The ownership and the grants of one user, service account or group. */
export const GrantHolder = z.object({
  owner_grant_id: z.string().optional(),
  /** When the ownership ends; undefined if it does not end. */
  owner_expires_at: z.string().optional(),
  grants: z.array(HeldGrant),
});
export type GrantHolder = z.output<typeof GrantHolder>;

/**
 * The stored grants and groups of one user or service account in one account. Every change of a grant or membership of
 * the subject updates this item, except a change of a super admin grant.
 */
export const AccessRecord = GrantHolder.extend({
  /**
   * The name and the e-mail address of a user, usually from a token of the user. Each is undefined until it is known.
   */
  ...Profile.shape,
  /** When `refreshProfile` last changed the profile. */
  profile_at: z.string().optional(),
  /** The groups to which the subject was explicitly added. */
  groups: z.array(z.string()).default([]),
  /** For a user: the ordinal of the account in the user's list of accounts. */
  listed_at: z.int().optional(),
  version: z.int(),
});
export type AccessRecord = z.output<typeof AccessRecord>;

/**
 * The grants and parents of all groups of an account, in one item. So a request reads one item for all groups of its
 * principal.
 */
export const GroupsRecord = z.object({
  groups: z.record(z.string(), GrantHolder.extend({ parent_id: z.string().optional() })),
  version: z.int(),
});
export type GroupsRecord = z.output<typeof GroupsRecord>;
export const noGroups: GroupsRecord = { groups: {}, version: 0 };

/**
 * The roles that an account has made, by their keys, in one item. Authorization reads this item only if a grant of the
 * principal, or of a group of the principal, names one of these roles.
 */
export const RolesRecord = z.object({
  roles: z.record(
    z.string(),
    z.object({
      name: z.string(),
      description: z.string().nullable(),
      capabilities: z.array(Capability),
      created_at: z.string(),
      created_by: z.string(),
      version: z.int(),
    }),
  ),
  version: z.int(),
});
export type RolesRecord = z.output<typeof RolesRecord>;
export const noRoles: RolesRecord = { roles: {}, version: 0 };

export const StoredUser = z.object({
  super_admin_grants: z.array(z.string()),
  /** When grants of super admin end, by their ids. A grant without an end is absent. */
  super_admin_ends: z.record(z.string(), z.string()).default({}),
  /**
   * When all access of the user to an account ends, by the id of the account. Accounts in which the access does not end
   * are absent.
   */
  access_ends: z.record(z.string(), z.string()).default({}),
});

/**
 * Tells until when the principal is a super admin. `until` is undefined if there is no end. The result is undefined if
 * the principal is not a super admin. A service account is never a super admin.
 */
export async function superAdminOf(
  table: Reader,
  principal: Principal,
  now: Date,
): Promise<{ until: string | undefined } | undefined> {
  if (principal.type !== "user") return undefined;
  const key = userKey(principal.id);
  const user = await table.get(key, StoredUser);
  const ends = user?.super_admin_grants.map((id) => user.super_admin_ends[id]) ?? [];
  const live = ends.filter((end) => isLive(end, now.toISOString()));
  if (live.length === 0) return undefined;
  table.seen?.note({ ...key, ...user });
  return { until: latestEnd(live) };
}

/** Whether the principal is a super admin. A service account is never a super admin. */
export const isSuperAdmin = async (table: Reader, principal: Principal, now: Date): Promise<boolean> =>
  (await superAdminOf(table, principal, now)) !== undefined;

/**
 * Guesses what to read ahead, from the items that this process has seen:
 * - the permissions of a principal in an account. The guess is the permissions of the seen access record if the record
 *   has a grant on a part of the account and no ownership, and the principal was not seen as a super admin. Otherwise
 *   the guess is all permissions;
 * - the keys of the items that authorization will probably read besides the access record. For a route with
 *   `usesPermissions`, authorization asks whether the user is a super admin, unless the user owns the account.
 *
 * A wrong guess only costs reads.
 */
export function expectedStanding(
  seen: Seen,
  principal: Principal,
  accountId: string,
  now: Date,
  usesPermissions = false,
): { permissions: Permissions; keys: Key[] } {
  const record = AccessRecord.safeParse(seen.recall(accessKey(accountId, principal))).data;
  const user = userKey(principal.id);
  const isSuper = seen.recall(user) !== undefined;
  const roles = RolesRecord.safeParse(seen.recall(rolesKey(accountId))).data;
  const isInGroups = (record?.groups.length ?? 0) > 0 || claimedGroups(principal, accountId).length > 0;
  const mayReadRoles = hasCustomRole(record?.grants ?? []) || (roles !== undefined && isInGroups);
  const isNoOwner = record !== undefined && record.owner_grant_id === undefined;
  const asksForSuperAdmin = isNarrow(record) || (usesPermissions && isNoOwner);
  const willReadUser = isSuper || (principal.type === "user" && asksForSuperAdmin);
  const keys = [
    ...(willReadUser ? [user] : []),
    ...(isSuper ? [accountKey(accountId)] : []),
    ...(record && record.groups.length > 0 ? [groupsKey(accountId)] : []),
    ...(mayReadRoles ? [rolesKey(accountId)] : []),
  ];
  const known = { groups: noGroups, roles: roles ?? noRoles };
  const permissions = isNarrow(record) && !isSuper ? permissionsOf(record, known, [], now) : everyPermission;
  return { permissions, keys };
}

const everyPermission: Permissions = { member: true, everything: true, superAdmin: false, grants: [] };

/** Whether to note a record: the record changes the guess of `expectedStanding`, and is not too long for the memory. */
const isWorthNoting = ({ owner_grant_id, groups, grants }: AccessRecord): boolean =>
  (owner_grant_id === undefined || groups.length > 0 || hasCustomRole(grants)) && grants.length <= 100;

const hasCustomRole = (grants: readonly Pick<HeldGrant, "custom_role">[]): boolean =>
  grants.some(({ custom_role }) => custom_role !== undefined);

/** Whether a record without ownership has a grant on a part of the account. */
const isNarrow = (record: AccessRecord | undefined): boolean =>
  record !== undefined && record.owner_grant_id === undefined && record.grants.some(({ scope }) => scope !== undefined);

/**
 * The name of a group in the `groups` claim of a token. The name consists of the ids of the account and the group, so
 * that no other group ever gets the same name.
 */
export const idpNameOf = (accountId: string, groupId: string): string => `${accountId}/${groupId}`;

/** The account's id in a name that `idpNameOf` made; undefined for a name in another form. */
export const accountOfGroup = (idpName: string): string | undefined =>
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[0-9a-f-]{36}$/.exec(idpName)?.[1];

/** The groups of an account that the principal's token names. */
export function claimedGroups(principal: Principal, accountId: string): string[] {
  const prefix = idpNameOf(accountId, "");
  return principal.groups.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/** The existing groups among `ids`, and all groups above them. The function also ends if groups contain each other. */
export function withAncestors({ groups }: GroupsRecord, ids: readonly string[]): string[] {
  const lineage = new Set<string>();
  const addWithParents = (id: string | undefined): void => {
    if (id === undefined || lineage.has(id) || !Object.hasOwn(groups, id)) return;
    lineage.add(id);
    addWithParents(groups[id]?.parent_id);
  };
  ids.forEach(addWithParents);
  return [...lineage];
}

/** The number of nesting levels from a group down to its deepest subgroup; 1 for a group without subgroups. */
export function heightOf(record: GroupsRecord, id: string): number {
  const levels = Object.keys(record.groups).map((inside) => withAncestors(record, [inside]).indexOf(id) + 1);
  return Math.max(1, ...levels);
}

/**
 * The permissions of a principal in an account. `record` is the principal's access record, if there is one. The status
 * and the debt of the account are present if the account was read.
 */
export type Standing = {
  permissions: Permissions;
  record?: AccessRecord | undefined;
  accountStatus?: AccountStatus;
  debt?: Debt | undefined;
};

/**
 * Reads the permissions of a principal in an account: the permissions of the principal and of the principal's groups.
 * - One round trip reads the access record, the groups if the token names groups, and the account if `withStatus`.
 * - A second round trip reads the groups if only the access record names groups. It also reads the account's own roles
 *   if the principal holds one. A third round trip reads the account's own roles if only a group holds one.
 * - Grants and ownership that have ended at `now` give nothing.
 */
export async function standingOf(
  table: Reader,
  principal: Principal,
  accountId: string,
  withStatus: boolean,
  now: Date,
): Promise<Standing> {
  const claimed = claimedGroups(principal, accountId);
  const [accessItem, accountItem, groupsItem] = await readSome(table, [
    accessKey(accountId, principal),
    withStatus ? accountKey(accountId) : undefined,
    claimed.length > 0 ? groupsKey(accountId) : undefined,
  ]);
  const record = accessItem && AccessRecord.parse(accessItem);
  if (accessItem && record && isWorthNoting(record)) table.seen?.note(accessItem);
  const groupIds = [...claimed, ...(record?.groups ?? [])];
  const needsGroups = groupsItem === undefined && record !== undefined && record.groups.length > 0;
  const [laterGroups, rolesItem] = await readSome(table, [
    needsGroups ? groupsKey(accountId) : undefined,
    hasCustomRole(record?.grants ?? []) ? rolesKey(accountId) : undefined,
  ]);
  const storedGroups = groupsItem ?? laterGroups;
  const groups = storedGroups ? GroupsRecord.parse(storedGroups) : noGroups;
  const inherited = withAncestors(groups, groupIds).flatMap((id) => groups.groups[id]?.grants ?? []);
  const roles = rolesItem ? RolesRecord.parse(rolesItem) : await rolesOf(table, accountId, inherited);
  if (rolesItem) table.seen?.note(rolesItem);
  const permissions = permissionsOf(record, { groups, roles }, groupIds, now);
  return { permissions, record, ...(accountItem ? statusAndDebt(StoredStatus.parse(accountItem)) : {}) };
}

const statusAndDebt = ({ status, debt }: StoredStatus): Pick<Standing, "accountStatus" | "debt"> => ({
  accountStatus: status,
  debt,
});

/** Reads the roles that an account has made, if one of these grants names such a role. */
export async function rolesOf(
  table: Reader,
  accountId: string,
  grants: readonly Pick<HeldGrant, "custom_role">[],
): Promise<RolesRecord> {
  if (!hasCustomRole(grants)) return noRoles;
  const [item] = await table.getMany([rolesKey(accountId)]);
  if (item) table.seen?.note(item);
  return item ? RolesRecord.parse(item) : noRoles;
}

/** The grants that have not ended at a time, with the capabilities of the account's own roles. */
export const effectiveGrants = (grants: readonly HeldGrant[], { roles }: RolesRecord, at: string): EffectiveGrant[] =>
  grants
    .filter(({ expires_at }) => isLive(expires_at, at))
    .map((grant) => {
      const { custom_role: key } = grant;
      if (key === undefined) return grant;
      return { ...grant, capabilities: Object.hasOwn(roles, key) ? (roles[key]?.capabilities ?? []) : [] };
    });

/** Whether the holder owns the account at a time. */
export const isOwner = ({ owner_grant_id, owner_expires_at }: GrantHolder, at: string): boolean =>
  owner_grant_id !== undefined && isLive(owner_expires_at, at);

/**
 * Returns `standing`, unless the principal is a super admin and the account exists. In this case returns a standing
 * with all permissions, and with the status and the debt of the account.
 */
export async function asSuperAdmin(
  table: Reader,
  principal: Principal,
  accountId: string,
  standing: Standing,
  now: Date,
): Promise<Standing> {
  const superAdmin = await superAdminOf(table, principal, now);
  if (!superAdmin) return standing;
  const isRead = standing.accountStatus !== undefined;
  const account = isRead ? undefined : await table.get(accountKey(accountId), StoredStatus);
  const { accountStatus, debt } = account ? statusAndDebt(account) : standing;
  if (accountStatus === undefined) return standing;
  const { member, everything, grants, ends = {} } = standing.permissions;
  const everythingEnd = latestEnd([superAdmin.until, ...(everything ? [ends.everything] : [])]);
  const memberEnd = latestEnd([everythingEnd, ...(member ? [ends.member] : [])]);
  const laterEnds = endsOf({ member: memberEnd, everything: everythingEnd, superAdmin: superAdmin.until });
  return { permissions: { ...everyPermission, superAdmin: true, grants, ...laterEnds }, accountStatus, debt };
}

/** Reads items in one round trip, in the order of `keys`. An undefined key gives undefined. */
async function readSome(table: Reader, keys: readonly (Key | undefined)[]): Promise<(Item | undefined)[]> {
  const presentKeys = keys.filter((key) => key !== undefined);
  if (presentKeys.length === 0) return keys.map(() => undefined);
  const items = (await table.getMany(presentKeys)).values();
  return keys.map((key) => (key === undefined ? undefined : items.next().value));
}

/** The permissions of a principal in an account. `ids` are the groups that the access record and the token name. */
function permissionsOf(
  record: AccessRecord | undefined,
  { groups, roles }: { groups: GroupsRecord; roles: RolesRecord },
  ids: readonly string[],
  now: Date,
): Permissions {
  const at = now.toISOString();
  const memberOf = withAncestors(groups, ids);
  const holders: GrantHolder[] = [...(record ? [record] : []), ...memberOf.flatMap((id) => groups.groups[id] ?? [])];
  const ownerEnds = holders.flatMap((holder) => (isOwner(holder, at) ? [holder.owner_expires_at] : []));
  const grants = holders.flatMap((holder) => effectiveGrants(holder.grants, roles, at));
  // Membership of a group does not end.
  const memberEnds = [...ownerEnds, ...grants.map(({ expires_at }) => expires_at), ...memberOf.map(() => undefined)];
  return {
    member: memberEnds.length > 0,
    everything: ownerEnds.length > 0,
    superAdmin: false,
    grants,
    ...endsOf({ member: latestEnd(memberEnds), everything: latestEnd(ownerEnds) }),
  };
}

/** The member `ends` of permissions. Absent if none of the permissions ends. */
const endsOf = (ends: NonNullable<Permissions["ends"]>): Pick<Permissions, "ends"> =>
  Object.values(ends).every((end) => end === undefined) ? {} : { ends };
