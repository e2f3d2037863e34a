import * as z from "zod";

import { accountsOfUser } from "../accounts/account.ts";
import {
  accessKey,
  AccessRecord,
  groupsKey,
  GroupsRecord,
  noGroups,
  StoredUser,
  userKey,
  type GrantHolder,
} from "../accounts/standing.ts";
import { isLive, latestEnd } from "../auth/permissions.ts";
import { Profile } from "../auth/principal.ts";
import { notFound, Problem } from "../core/errors.ts";
import { appendRows, readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Seen } from "../table/seen-items.ts";
import type { Reader } from "../table/table.ts";
import type { Write, Key } from "../table/writes.ts";

/*
 * Access patterns
 *   the users whose ownership of an account does not end   ACCOUNT#<id> / OWNERS
 */
const ownersKey = (accountId: string) => ({ PK: `ACCOUNT#${accountId}`, SK: "OWNERS" });

export type Subject = { type: "user" | "group" | "service_account"; id: string };

/**
 * The ownership, grants and groups of a subject, and the profile of a user. If the subject is a group, `groups` is
 * empty.
 */
export type Held = GrantHolder & Profile & { groups: string[] };
/**
 * A change of a subject's permissions. With `forget`, the record of a service account is deleted if the service account
 * has no permissions and no groups after the change. Then nothing can be given to the service account any more.
 */
export type HolderChange = { subject: Subject; change: (held: Held) => Held; forget?: true };

const noGrants: Held = { grants: [], groups: [] };

/** Reads the permissions of a subject in an account; undefined if the account has no record of the subject. */
export async function readHeld(table: Reader, accountId: string, subject: Subject): Promise<Held | undefined> {
  if (subject.type !== "group") return table.get(accessKey(accountId, subject), AccessRecord);
  const { groups } = await readGroups(table, accountId);
  const group = Object.hasOwn(groups, subject.id) ? groups[subject.id] : undefined;
  return group && { ...group, groups: [] };
}

/**
 * The items that `planHolders` reads for a subject. The record of the subject is listed `times` times, because one
 * listed key serves one read. With `leaves`, the items include a block of the user's list of accounts, which is read if
 * the user loses the last permission.
 */
export function aheadOfHolder(
  accountId: string,
  { type, id }: Subject,
  { times = 1, leaves = false }: { times?: number; leaves?: boolean } = {},
): Key[] {
  const record = type === "group" ? groupsKey(accountId) : accessKey(accountId, { type, id });
  const list = type === "user" ? (aheadOfList(accountsOfUser(id), leaves ? [0] : []).keys ?? []) : [];
  return [...Array.from({ length: times }, () => record), ...list];
}

/** Reads the grants and parents of all groups of an account. */
export async function readGroups(table: Reader, accountId: string): Promise<GroupsRecord> {
  return (await table.get(groupsKey(accountId), GroupsRecord)) ?? noGroups;
}

/**
 * The most grants of a subject, and the most groups that a subject is in. An item could have 400 KB. The limit is far
 * lower, because every request reads the grants of its subject.
 */
export const grantLimit = 1_000;

/** The most users whose ownership of an account does not end. */
export const ownerLimit = 1_000;

/**
 * The most bytes that the grants and parents of an account's groups can take together, as JSON. One item has them all.
 */
export const groupsLimitBytes = 300_000;

/**
 * The write that replaces the grants and parents of all groups. The write fails if they have changed since `record` was
 * read. Throws 409 `limit_reached` if `groups` has more than `groupsLimitBytes`.
 */
export function groupsWrite(accountId: string, record: GroupsRecord, groups: GroupsRecord["groups"]): Write {
  if (Buffer.byteLength(JSON.stringify(groups)) > groupsLimitBytes) {
    throw new Problem(
      "limit_reached",
      `All groups of an account with their grants can take ${groupsLimitBytes} bytes at most. Delete groups or revoke grants of groups first.`,
    );
  }
  return {
    put: { ...groupsKey(accountId), groups, version: record.version + 1 },
    if: record.version === 0 ? "absent" : { version: record.version },
  };
}

/**
 * Plans changes of subjects' permissions. A user without a record gets a record, and a user who then holds nothing
 * loses the record. Throws:
 * - 404 for a group or service account that the account does not have;
 * - 409 `limit_reached` if a subject would have too many grants or be in too many groups, or if the groups of the
 *   account would not fit into one item.
 */
export async function planHolders(
  table: Reader,
  accountId: string,
  changes: readonly HolderChange[],
): Promise<Write[]> {
  const groupChanges = changes.filter(({ subject }) => subject.type === "group");
  const bySubject = Map.groupBy(
    changes.filter(({ subject }) => subject.type !== "group"),
    ({ subject }) => `${subject.type}#${subject.id}`,
  );
  const records = [...bySubject.values()].map((ofSubject) => planRecord(table, accountId, ofSubject));
  const groups = groupChanges.length > 0 ? [planGroups(table, accountId, groupChanges)] : [];
  return (await Promise.all([...records, ...groups])).flat();
}

/**
 * Throws 409 `limit_reached` if a change gives a subject more grants than a subject can have. A group that got more
 * grants by an earlier version keeps them.
 */
function requireGrantsFit(before: readonly unknown[], after: readonly unknown[]): void {
  if (after.length <= grantLimit || after.length <= before.length) return;
  throw new Problem(
    "limit_reached",
    `A user, a group or a service account can hold ${grantLimit} grants at most. Revoke some of its grants first.`,
  );
}

const applyAll = (held: Held, changes: readonly HolderChange[]): Held =>
  changes.reduce((current, { change }) => change(current), held);

async function planGroups(table: Reader, accountId: string, changes: readonly HolderChange[]): Promise<Write[]> {
  const record = await readGroups(table, accountId);
  const groups = { ...record.groups };
  for (const change of changes) {
    const { id } = change.subject;
    const group = Object.hasOwn(groups, id) ? groups[id] : undefined;
    if (!group) throw notFound();
    const { groups: _, ...holder } = applyAll({ ...group, groups: [] }, [change]);
    requireGrantsFit(group.grants, holder.grants);
    groups[id] = { ...holder, ...(group.parent_id === undefined ? {} : { parent_id: group.parent_id }) };
  }
  return [groupsWrite(accountId, record, groups)];
}

const isEmpty = ({ owner_grant_id, grants, groups }: Held): boolean =>
  owner_grant_id === undefined && grants.length === 0 && groups.length === 0;

/**
 * Plans the new access record of one user or service account. A user who holds nothing has no record. The account is in
 * the user's list of accounts only while the user has a record. `listed_at` is the ordinal of the account in this list.
 */
async function planRecord(table: Reader, accountId: string, changes: readonly HolderChange[]): Promise<Write[]> {
  const subject = changes[0]?.subject ?? { type: "user", id: "" };
  const key = accessKey(accountId, subject);
  const record = await table.get(key, AccessRecord);
  if (!record && subject.type === "service_account") throw notFound();
  const next = applyAll(record ?? noGrants, changes);
  const { owner_grant_id, owner_expires_at, grants, groups } = next;
  requireGrantsFit(record?.grants ?? [], grants);
  if (groups.length > grantLimit) {
    throw new Problem("limit_reached", `A user or a service account can be in ${grantLimit} groups at most.`);
  }
  const held = {
    ...Profile.parse(next),
    ...(owner_grant_id === undefined ? {} : { owner_grant_id }),
    ...(owner_expires_at === undefined ? {} : { owner_expires_at }),
    grants,
    groups,
  };
  const condition: Write["if"] = record ? { version: record.version } : "absent";
  const put = (listedAt: number | undefined): Write => ({
    put: { ...key, ...held, profile_at: record?.profile_at, listed_at: listedAt, version: (record?.version ?? 0) + 1 },
    if: condition,
  });
  if (subject.type === "service_account") {
    const isForgotten = isEmpty(held) && changes.some(({ forget }) => forget);
    return [isForgotten ? { delete: key, if: condition } : put(undefined)];
  }
  const ends = await planAccessEnd(table, accountId, subject.id, accessEnd(record ?? noGrants), accessEnd(held));
  const listedAt = record?.listed_at;
  const staysInList = listedAt !== undefined && !isEmpty(held);
  const staysOutOfList = listedAt === undefined && isEmpty(held);
  if (staysInList || staysOutOfList) {
    const deletion: Write[] = record ? [{ delete: key, if: condition }] : [];
    return isEmpty(held) ? [...deletion, ...ends] : [put(listedAt), ...ends];
  }
  const { state } = await readList(table, accountsOfUser(subject.id), listedAt === undefined ? [] : [listedAt]);
  return listedAt === undefined
    ? [put(state.next), ...appendRows(state, [{ account_id: accountId }]), ...ends]
    : [{ delete: key, if: condition }, ...removeRows(state, [listedAt]), ...ends];
}

/**
 * Plans to give a user exactly the permissions in the earlier record `former`, or no permissions if `former` is
 * undefined. A restore of an account uses this. The account keeps its place in the user's list of accounts, or gets a
 * new one.
 */
export async function planFormerAccess(
  table: Reader,
  accountId: string,
  userId: string,
  former: AccessRecord | undefined,
): Promise<Write[]> {
  const key = accessKey(accountId, { type: "user", id: userId });
  const record = await table.get(key, AccessRecord);
  const condition: Write["if"] = record ? { version: record.version } : "absent";
  const listedAt = record?.listed_at;
  const { state } = await readList(table, accountsOfUser(userId), listedAt === undefined ? [] : [listedAt]);
  const ends = await planAccessEnd(
    table,
    accountId,
    userId,
    accessEnd(record ?? noGrants),
    accessEnd(former ?? noGrants),
  );
  if (!former) {
    if (!record) return [];
    const unlisted = listedAt === undefined ? [] : removeRows(state, [listedAt]);
    return [{ delete: key, if: condition }, ...unlisted, ...ends];
  }
  const next = { ...former, listed_at: listedAt ?? state.next, version: (record?.version ?? former.version) + 1 };
  const listed = listedAt === undefined ? appendRows(state, [{ account_id: accountId }]) : [];
  return [{ put: { ...key, ...next }, if: condition }, ...listed, ...ends];
}

/**
 * The end of all permissions of a subject. Undefined if one of them does not end, if the subject is in a group, or if
 * the subject has no permission.
 */
const accessEnd = ({ owner_grant_id, owner_expires_at, grants, groups }: Held): string | undefined =>
  groups.length > 0
    ? undefined
    : latestEnd([
        ...(owner_grant_id === undefined ? [] : [owner_expires_at]),
        ...grants.map(({ expires_at }) => expires_at),
      ]);

/** Whether a subject has a permission at a time, or is in a group. */
export const hasAccess = (held: Held, at: string): boolean => !isEmpty(held) && isLive(accessEnd(held), at);

/**
 * Plans to store, in the user's item, when all access of the user to an account ends. After that time, `accounts.list`
 * leaves the account out.
 */
async function planAccessEnd(
  table: Reader,
  accountId: string,
  userId: string,
  from: string | undefined,
  to: string | undefined,
): Promise<Write[]> {
  if (from === to) return [];
  const user = await readUser(table, userId);
  const { [accountId]: _, ...others } = user.access_ends;
  return [userWrite(userId, user, { access_ends: to === undefined ? others : { ...others, [accountId]: to } })];
}

/**
 * The write that deletes the record of a service account without permissions and groups. After the deletion, nothing
 * can be given to the service account any more. Plans no write if the service account still has a permission or a
 * group.
 */
export async function planForgotten(table: Reader, accountId: string, subject: Subject): Promise<Write[]> {
  const key = accessKey(accountId, subject);
  const record = await table.get(key, AccessRecord);
  return record && isEmpty(record) ? [{ delete: key, if: { version: record.version } }] : [];
}

const Owners = z.object({ user_ids: z.array(z.string()), version: z.int() });

/** The ids of the users whose ownership of an account does not end, in the order in which they became such owners. */
export async function readOwners(table: Reader, accountId: string): Promise<string[]> {
  const key = ownersKey(accountId);
  const owners = await table.get(key, Owners);
  if (owners) table.seen?.note({ ...key, ...owners });
  return owners?.user_ids ?? [];
}

/**
 * The items that are probably read for an account's owners: their ids, and the access records of the first `most`
 * owners. The records are listed twice: if the caller is one of these owners, authorization reads the caller's record
 * too.
 */
export function aheadOfOwners(accountId: string, seen: Seen, most: number): Key[] {
  const { user_ids = [] } = Owners.safeParse(seen.recall(ownersKey(accountId))).data ?? {};
  const records = user_ids.slice(0, most).map((id) => accessKey(accountId, { type: "user", id }));
  return [ownersKey(accountId), ...records, ...records];
}

/**
 * The write that adds a user to the users whose ownership of an account does not end. Throws 409 `limit_reached` if
 * there would be more than 1,000 of them.
 */
export async function planOwnerAdded(table: Reader, accountId: string, userId: string): Promise<Write> {
  const owners = (await table.get(ownersKey(accountId), Owners)) ?? { user_ids: [], version: 0 };
  const userIds = [...new Set([...owners.user_ids, userId])];
  if (userIds.length > ownerLimit)
    throw new Problem(
      "limit_reached",
      `An account can have at most ${ownerLimit} owners whose ownership does not end. Revoke an ownership first.`,
    );
  return {
    put: { ...ownersKey(accountId), user_ids: userIds, version: owners.version + 1 },
    if: owners.version === 0 ? "absent" : { version: owners.version },
  };
}

/**
 * The write that removes a user from the users whose ownership of an account does not end. Throws 409 `last_owner` if
 * no such user would be left.
 */
export async function planOwnerRemoved(table: Reader, accountId: string, userId: string): Promise<Write> {
  const owners = (await table.get(ownersKey(accountId), Owners)) ?? { user_ids: [], version: 0 };
  const remaining = owners.user_ids.filter((id) => id !== userId);
  if (remaining.length === 0)
    throw new Problem(
      "last_owner",
      "This is the last user whose ownership of the account does not end. Make another such owner first.",
    );
  return {
    put: { ...ownersKey(accountId), user_ids: remaining, version: owners.version + 1 },
    if: { version: owners.version },
  };
}

const VersionedUser = StoredUser.extend({ version: z.int() });
type VersionedUser = z.output<typeof VersionedUser>;

const readUser = async (table: Reader, userId: string): Promise<VersionedUser> =>
  (await table.get(userKey(userId), VersionedUser)) ?? {
    super_admin_grants: [],
    super_admin_ends: {},
    access_ends: {},
    version: 0,
  };

const userWrite = (userId: string, user: VersionedUser, changed: Partial<VersionedUser>): Write => ({
  put: { ...userKey(userId), ...user, ...changed, version: user.version + 1 },
  if: user.version === 0 ? "absent" : { version: user.version },
});

/**
 * The ids of the grants that make a user a super admin, also of ended grants. The operator's own mark is among the ids
 * if the operator made the user a super admin.
 */
export async function superAdminGrants(table: Reader, userId: string): Promise<string[]> {
  return (await table.get(userKey(userId), StoredUser))?.super_admin_grants ?? [];
}

/**
 * The write that changes the super admin grants of a user. A user without such a grant is not a super admin. `ends` has
 * the new ends of the grants whose end changes, by their ids. Undefined means that a grant does not end.
 */
export async function planSuperAdmin(
  table: Reader,
  userId: string,
  change: (grants: string[]) => string[],
  ends: Record<string, string | undefined> = {},
): Promise<Write> {
  const user = await readUser(table, userId);
  const grants = change(user.super_admin_grants);
  const all = Object.entries({ ...user.super_admin_ends, ...ends });
  const kept = all.flatMap(([id, end]) => (end !== undefined && grants.includes(id) ? [[id, end] as const] : []));
  return userWrite(userId, user, { super_admin_grants: grants, super_admin_ends: Object.fromEntries(kept) });
}
