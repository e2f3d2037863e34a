import * as z from "zod";

import { accountsOfUser } from "../accounts/account.ts";
import {
  accessKey,
  AccessRecord,
  groupsKey,
  GroupsRecord,
  noGroups,
  userKey,
  type GrantHolder,
} from "../accounts/standing.ts";
import { notFound, Problem } from "../core/errors.ts";
import { appendRows, readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write, Key } from "../table/writes.ts";

/*
 * Access patterns
 *   the users who own an account   ACCOUNT#<id> / OWNERS
 */
const ownersKey = (accountId: string) => ({ PK: `ACCOUNT#${accountId}`, SK: "OWNERS" });

export type Subject = { type: "user" | "group" | "service_account"; id: string };

/** The ownership and the grants of a subject. `groups` are the groups to which it was added; empty for a group. */
export type Held = GrantHolder & { groups: string[] };
/**
 * A change of what a subject holds. With `forget`, a service account that holds nothing after the change loses its
 * record, and nothing can be given to it any more.
 */
export type HolderChange = { subject: Subject; change: (held: Held) => Held; forget?: true };

const noGrants: Held = { grants: [], groups: [] };

/** Reads what a subject holds in an account; undefined if the account has no record of the subject. */
export async function readHeld(table: Reader, accountId: string, subject: Subject): Promise<Held | undefined> {
  if (subject.type !== "group") return table.get(accessKey(accountId, subject), AccessRecord);
  const { groups } = await readGroups(table, accountId);
  const group = Object.hasOwn(groups, subject.id) ? groups[subject.id] : undefined;
  return group && { ...group, groups: [] };
}

/**
 * The items that `planHolders` reads to give something to a subject, `times` times. With `leaves` also those that it
 * reads if the subject loses its last permission and its account is among the first in its list.
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

/** Reads what all groups of an account hold. */
export async function readGroups(table: Reader, accountId: string): Promise<GroupsRecord> {
  return (await table.get(groupsKey(accountId), GroupsRecord)) ?? noGroups;
}

/** An item can have 400 KB. Every request reads the grants of its subject, so the limit is far lower. */
const grantLimit = 1_000;
const groupsLimitBytes = 300_000;

/**
 * The write that replaces the grants of all groups. It fails if they changed since they were read. Throws 409
 * `limit_reached` if they do not fit into one item.
 */
export function groupsWrite(accountId: string, { version }: GroupsRecord, groups: GroupsRecord["groups"]): Write {
  if (Buffer.byteLength(JSON.stringify(groups)) > groupsLimitBytes) {
    throw new Problem(
      "limit_reached",
      "The groups of this account hold too many grants. Delete groups or revoke grants.",
    );
  }
  return {
    put: { ...groupsKey(accountId), groups, version: version + 1 },
    if: version === 0 ? "absent" : { version },
  };
}

/**
 * Plans changes of what subjects hold. Throws 404 for a group or service account that the account does not have. A user
 * needs no record beforehand.
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
  const records = [...bySubject.values()].map((same) => planRecord(table, accountId, same));
  const groups = groupChanges.length > 0 ? [planGroups(table, accountId, groupChanges)] : [];
  return (await Promise.all([...records, ...groups])).flat();
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
    groups[id] = { ...holder, ...(group.parent_id === undefined ? {} : { parent_id: group.parent_id }) };
  }
  return [groupsWrite(accountId, record, groups)];
}

const isEmpty = ({ owner_grant_id, grants, groups }: Held): boolean =>
  owner_grant_id === undefined && grants.length === 0 && groups.length === 0;

async function planRecord(table: Reader, accountId: string, changes: readonly HolderChange[]): Promise<Write[]> {
  const subject = changes[0]?.subject ?? { type: "user", id: "" };
  const key = accessKey(accountId, subject);
  const record = await table.get(key, AccessRecord);
  if (!record && subject.type === "service_account") throw notFound();
  const { owner_grant_id, grants, groups } = applyAll(record ?? noGrants, changes);
  if (grants.length > grantLimit || groups.length > grantLimit) {
    throw new Problem(
      "limit_reached",
      `A subject can hold ${grantLimit} grants and be in ${grantLimit} groups at most.`,
    );
  }
  const held = { ...(owner_grant_id === undefined ? {} : { owner_grant_id }), grants, groups };
  const condition: Write["if"] = record ? { version: record.version } : "absent";
  const put = (listedAt: number | undefined): Write => ({
    put: { ...key, ...held, listed_at: listedAt, version: (record?.version ?? 0) + 1 },
    if: condition,
  });
  if (subject.type === "service_account") {
    const isForgotten = isEmpty(held) && changes.some(({ forget }) => forget);
    return [isForgotten ? { delete: key, if: condition } : put(undefined)];
  }
  const listedAt = record?.listed_at;
  if (isEmpty(held) ? listedAt === undefined : listedAt !== undefined) {
    const gone: Write[] = record ? [{ delete: key, if: condition }] : [];
    return isEmpty(held) ? gone : [put(listedAt)];
  }
  const { state } = await readList(table, accountsOfUser(subject.id), listedAt === undefined ? [] : [listedAt]);
  return listedAt === undefined
    ? [put(state.next), ...appendRows(state, [{ account_id: accountId }])]
    : [{ delete: key, if: condition }, ...removeRows(state, [listedAt])];
}

/**
 * The write that deletes the record of a service account that holds nothing any more, so that nothing can be given to
 * it; none if it still holds something.
 */
export async function planForgotten(table: Reader, accountId: string, subject: Subject): Promise<Write[]> {
  const key = accessKey(accountId, subject);
  const record = await table.get(key, AccessRecord);
  return record && isEmpty(record) ? [{ delete: key, if: { version: record.version } }] : [];
}

const Owners = z.object({ user_ids: z.array(z.string()), version: z.int() });

/** The write that adds a user to the owners of an account. Throws 409 `limit_reached`. */
export async function planOwnerAdded(table: Reader, accountId: string, userId: string): Promise<Write> {
  const owners = (await table.get(ownersKey(accountId), Owners)) ?? { user_ids: [], version: 0 };
  const userIds = [...new Set([...owners.user_ids, userId])];
  if (userIds.length > grantLimit)
    throw new Problem("limit_reached", `An account can have ${grantLimit} owners at most.`);
  return {
    put: { ...ownersKey(accountId), user_ids: userIds, version: owners.version + 1 },
    if: owners.version === 0 ? "absent" : { version: owners.version },
  };
}

/**
 * The write that removes a user from the owners of an account. Throws 409 `last_owner` if the account would have no
 * owner.
 */
export async function planOwnerRemoved(table: Reader, accountId: string, userId: string): Promise<Write> {
  const owners = (await table.get(ownersKey(accountId), Owners)) ?? { user_ids: [], version: 0 };
  const remaining = owners.user_ids.filter((id) => id !== userId);
  if (remaining.length === 0)
    throw new Problem("last_owner", "This is the last user who owns the account. Make another user an owner first.");
  return {
    put: { ...ownersKey(accountId), user_ids: remaining, version: owners.version + 1 },
    if: { version: owners.version },
  };
}

const SuperAdmin = z.object({ super_admin_grants: z.array(z.string()), version: z.int() });

/** The ids of the grants that make a user a super admin. */
export async function superAdminGrants(table: Reader, userId: string): Promise<string[]> {
  return (await table.get(userKey(userId), SuperAdmin))?.super_admin_grants ?? [];
}

/** The write that changes the grants that make a user a super admin. A user without such a grant is no super admin. */
export async function planSuperAdmin(
  table: Reader,
  userId: string,
  change: (grants: string[]) => string[],
): Promise<Write> {
  const user = (await table.get(userKey(userId), SuperAdmin)) ?? { super_admin_grants: [], version: 0 };
  return {
    put: { ...userKey(userId), super_admin_grants: change(user.super_admin_grants), version: user.version + 1 },
    if: user.version === 0 ? "absent" : { version: user.version },
  };
}
