import * as z from "zod";

import { HeldGrant, type Permissions } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Seen } from "../table/seen-items.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Key } from "../table/writes.ts";
import { accountKey, StoredAccount } from "./account.ts";

/*
 * Access patterns
 *   all that a user or service account holds in an account   ACCOUNT#<id> / ACCESS#<subject type>#<subject id>
 *   all that the groups of an account hold, and their nesting ACCOUNT#<id> / GROUPS
 *   whether a user is a super admin                           USER#<id> / USER
 */
export const accessKey = (accountId: string, subject: { type: string; id: string }): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ACCESS#${subject.type}#${subject.id}`,
});
export const groupsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "GROUPS" });
export const userKey = (userId: string): Key => ({ PK: `USER#${userId}`, SK: "USER" });

/** The ownership and the grants of one user, service account or group. */
export const GrantHolder = z.object({ owner_grant_id: z.string().optional(), grants: z.array(HeldGrant) });
export type GrantHolder = z.output<typeof GrantHolder>;

/**
 * The stored grants and groups of one user or service account in one account. Every transaction that changes them
 * updates this item.
 */
export const AccessRecord = GrantHolder.extend({
  /** The groups to which the subject was explicitly added. */
  groups: z.array(z.string()).default([]),
  /** The account's ordinal in the user's own list of accounts. */
  listed_at: z.int().optional(),
  version: z.int(),
});
export type AccessRecord = z.output<typeof AccessRecord>;

/**
 * The grants and the nesting of all groups of an account, in one item, so that a member of twenty groups costs one
 * read.
 */
export const GroupsRecord = z.object({
  groups: z.record(z.string(), GrantHolder.extend({ parent_id: z.string().optional() })),
  version: z.int(),
});
export type GroupsRecord = z.output<typeof GroupsRecord>;
export const noGroups: GroupsRecord = { groups: {}, version: 0 };

const StoredUser = z.object({ super_admin_grants: z.array(z.string()) });

/** Whether the principal is a super admin; only users can be. */
export async function isSuperAdmin(table: Reader, principal: Principal): Promise<boolean> {
  if (principal.type !== "user") return false;
  const key = userKey(principal.id);
  const user = await table.get(key, StoredUser);
  const isSuper = user !== undefined && user.super_admin_grants.length > 0;
  if (isSuper) table.seen?.note({ ...key, ...user });
  return isSuper;
}

/**
 * The permissions that a principal probably has in an account, and the keys by which they were decided before, beside
 * those that are always read. Everything, and no keys, if this process has not seen the principal, or if the permissions
 * were for the whole account.
 */
export function expectedStanding(
  seen: Seen,
  principal: Principal,
  accountId: string,
): { permissions: Permissions; keys: Key[] } {
  const record = AccessRecord.safeParse(seen.recall(accessKey(accountId, principal))).data;
  const user = userKey(principal.id);
  const isSuper = seen.recall(user) !== undefined;
  const isAsked = isSuper || (principal.type === "user" && isNarrow(record));
  const keys = [
    ...(isAsked ? [user] : []),
    ...(isSuper ? [accountKey(accountId)] : []),
    ...(record && record.groups.length > 0 ? [groupsKey(accountId)] : []),
  ];
  const permissions = isNarrow(record) && !isSuper ? permissionsOf(record, noGroups, []) : everyPermission;
  return { permissions, keys };
}

const everyPermission: Permissions = { member: true, everything: true, superAdmin: false, grants: [] };

/** Whether a record changes which items are read for its principal. A very long one would take too much memory. */
const isWorthNoting = (record: AccessRecord): boolean =>
  (isNarrow(record) || record.groups.length > 0) && record.grants.length <= 100;

/** Whether a record allows something on a part of the account only. */
const isNarrow = (record: AccessRecord | undefined): boolean =>
  record !== undefined && record.owner_grant_id === undefined && record.grants.some(({ scope }) => scope !== undefined);

/**
 * The name of a group in the `groups` claim of a token. It consists of the ids of account and group, so that no other
 * group ever has the same name.
 */
export const idpNameOf = (accountId: string, groupId: string): string => `${accountId}/${groupId}`;

/** The account's id in the name of a group in a token; undefined for a name that is not in our form. */
export const accountOfGroup = (idpName: string): string | undefined =>
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[0-9a-f-]{36}$/.exec(idpName)?.[1];

/** The groups of an account that the principal's token names. */
export function claimedGroups(principal: Principal, accountId: string): string[] {
  const prefix = idpNameOf(accountId, "");
  return principal.groups.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/**
 * The existing groups among `ids`, and all groups that contain them. Ends even if groups contain each other.
 */
export function withAncestors({ groups }: GroupsRecord, ids: readonly string[]): string[] {
  const found = new Set<string>();
  const walk = (id: string | undefined): void => {
    if (id === undefined || found.has(id) || !Object.hasOwn(groups, id)) return;
    found.add(id);
    walk(groups[id]?.parent_id);
  };
  ids.forEach(walk);
  return [...found];
}

/** The number of nesting levels from a group down to its deepest subgroup; 1 for a group without subgroups. */
export function heightOf(record: GroupsRecord, id: string): number {
  const levels = Object.keys(record.groups).map((inside) => withAncestors(record, [inside]).indexOf(id) + 1);
  return Math.max(1, ...levels);
}

/** The permissions of a principal in an account, and for a write the status of the account. */
export type Standing = { permissions: Permissions; accountStatus?: StoredAccount["status"] };

/**
 * Reads the permissions of a principal in an account: its own, and those of its groups.
 * - One round trip reads the principal's own record, the groups if its token names any, and the account if the request
 *   writes.
 * - A second round trip reads the groups if only the record names groups.
 */
export async function standingOf(
  table: Reader,
  principal: Principal,
  accountId: string,
  withStatus: boolean,
): Promise<Standing> {
  const claimed = claimedGroups(principal, accountId);
  const [accessItem, accountItem, groupsItem] = await readSome(table, [
    accessKey(accountId, principal),
    withStatus ? accountKey(accountId) : undefined,
    claimed.length > 0 ? groupsKey(accountId) : undefined,
  ]);
  const record = accessItem && AccessRecord.parse(accessItem);
  if (accessItem && record && isWorthNoting(record)) table.seen?.note(accessItem);
  const named = [...claimed, ...(record?.groups ?? [])];
  const missing = groupsItem === undefined && record !== undefined && record.groups.length > 0;
  const groups = groupsItem ?? (missing ? (await table.getMany([groupsKey(accountId)]))[0] : undefined);
  const permissions = permissionsOf(record, groups ? GroupsRecord.parse(groups) : noGroups, named);
  return { permissions, ...(accountItem ? { accountStatus: StoredAccount.parse(accountItem).status } : {}) };
}

/** Gives a super admin every permission in an account that exists; any other principal keeps `standing`. */
export async function asSuperAdmin(
  table: Reader,
  principal: Principal,
  accountId: string,
  standing: Standing,
): Promise<Standing> {
  if (!(await isSuperAdmin(table, principal))) return standing;
  const read = async () => (await table.get(accountKey(accountId), StoredAccount))?.status;
  const accountStatus = standing.accountStatus ?? (await read());
  if (accountStatus === undefined) return standing;
  return { permissions: { ...everyPermission, superAdmin: true }, accountStatus };
}

/** Reads the given keys in one round trip. An undefined key gives undefined at its place. */
async function readSome(table: Reader, keys: readonly (Key | undefined)[]): Promise<(Item | undefined)[]> {
  const wanted = keys.filter((key) => key !== undefined);
  const items = (await table.getMany(wanted)).values();
  return keys.map((key) => (key === undefined ? undefined : items.next().value));
}

function permissionsOf(record: AccessRecord | undefined, groups: GroupsRecord, named: readonly string[]): Permissions {
  const memberOf = withAncestors(groups, named);
  const holders: GrantHolder[] = [...(record ? [record] : []), ...memberOf.flatMap((id) => groups.groups[id] ?? [])];
  const owner = holders.some(({ owner_grant_id }) => owner_grant_id !== undefined);
  const grants = holders.flatMap((holder) => holder.grants);
  return {
    member: owner || grants.length > 0 || memberOf.length > 0,
    everything: owner,
    superAdmin: false,
    grants,
  };
}
