import * as z from "zod";

import { groupsKey } from "../../accounts/standing.ts";
import { type Change, change, defineKind } from "../../changes/kind.ts";
import { notFound } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { type PageQuery, spanOf } from "../../core/page.ts";
import { Timestamp } from "../../core/time.ts";
import { type HolderChange, type Subject, planHolders, readGroups, aheadOfHolder } from "../../grants/holders.ts";
import { forSubject } from "../../grants/references.ts";
import type { Context } from "../../http/route.ts";
import {
  type List,
  type ListState,
  appendRows,
  readList,
  readRows,
  removeRows,
  unchangedList,
  aheadOfList,
  aheadOfRows,
} from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { permissionsOfGroup, ownershipIn, requireToHold } from "../escalation.ts";

/*
 * Access patterns
 *   explicit members of a group, oldest first   ACCOUNT#<id> / LIST#members/<group id>
 *   the ordinal of a member in that list        ACCOUNT#<id> / MEMBER#<group id>#<member type>#<member id>
 *   the groups of a member                      the member's access record (shared/accounts/standing.ts)
 */
const membersOf = (accountId: string, groupId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: `members/${groupId}`,
});
const memberKey = (accountId: string, groupId: string, member: Pick<Subject, "type" | "id">): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MEMBER#${groupId}#${member.type}#${member.id}`,
});

export const MemberType = z.enum(["user", "service_account"]).meta({ description: "The type of the member." });

export const GroupMember = z
  .object({
    group_id: Id.meta({ description: "The group." }),
    subject_id: Id.meta({ description: "The id of the user or service account." }),
    subject_type: MemberType,
    added_at: Timestamp.meta({ description: "When the member was added." }),
  })
  .meta({
    id: "GroupMember",
    description: "A member that was added to a group. Users can also be members by the `groups` claim of their token.",
  });

export const memberKind = defineKind({
  name: "auth.group_member",
  verbs: ["added", "removed"],
  view: GroupMember,
  seenWith: "auth.manage",
});

const StoredMember = GroupMember.extend({ ordinal: z.int() });

type StoredMembers = z.output<typeof StoredMember>[];

const readMemberList = async (
  table: Reader,
  accountId: string,
  groupId: string,
  stored: StoredMembers,
): Promise<ListState> => {
  const ordinals = stored.map(({ ordinal }) => ordinal);
  return (await readList(table, membersOf(accountId, groupId), ordinals)).state;
};

type Removal = { writes: Write[]; changes: Change[] };

/** Plans the removal of members from the list of a group, and of the group from the members' access records. */
async function planMemberRemoval(
  table: Reader,
  accountId: string,
  groupId: string,
  stored: StoredMembers,
  state?: ListState,
): Promise<Removal> {
  if (stored.length === 0) return { writes: [], changes: [] };
  const leaving = stored.map(({ subject_id: id, subject_type: type }) => ({
    subject: { type, id },
    change: removeGroups([groupId]),
  }));
  const [recordWrites, { writes, changes }] = await Promise.all([
    planHolders(table, accountId, leaving),
    planListRemoval(table, accountId, groupId, stored, state),
  ]);
  return { writes: [...writes, ...recordWrites], changes };
}

/** The change of an access record that removes groups. */
const removeGroups =
  (groupIds: readonly string[]): HolderChange["change"] =>
  (held) => ({ ...held, groups: held.groups.filter((id) => !groupIds.includes(id)) });

/** Plans the removal of members from the list of a group, without the change of the members' access records. */
async function planListRemoval(
  table: Reader,
  accountId: string,
  groupId: string,
  stored: StoredMembers,
  state?: ListState,
): Promise<Removal> {
  const pointers = stored.map(({ subject_id: id, subject_type: type }): Write => ({
    delete: memberKey(accountId, groupId, { type, id }),
  }));
  const list = state ?? (await readMemberList(table, accountId, groupId, stored));
  const rows = removeRows(
    list,
    stored.map(({ ordinal }) => ordinal),
  );
  return {
    writes: [...rows, ...pointers],
    changes: stored.map((member) => change(memberKind, "removed", member.subject_id, { before: member })),
  };
}

/**
 * Plans the removal of a member from the lists of groups. The caller must add `holder`, the change of the member's
 * access record, to the same transaction.
 */
export async function planLeaving(
  table: Reader,
  accountId: string,
  member: Subject,
  groupIds: readonly string[],
): Promise<Removal & { holder: HolderChange["change"] }> {
  const removals = await Promise.all(
    groupIds.map(async (groupId) => {
      const stored = await table.get(memberKey(accountId, groupId, member), StoredMember);
      return stored ? planListRemoval(table, accountId, groupId, [stored]) : { writes: [], changes: [] };
    }),
  );
  return {
    writes: removals.flatMap(({ writes }) => writes),
    changes: removals.flatMap(({ changes }) => changes),
    holder: removeGroups(groupIds),
  };
}

/** The part of the context that a call with several transactions needs. */
export type CommitContext = Pick<Context, "table" | "commit">;

/**
 * Removes a member from groups, one group in each transaction. If a group was deleted meanwhile, only the member's
 * access record is changed.
 */
export async function leaveGroups(
  { table, commit }: CommitContext,
  accountId: string,
  member: Subject,
  groupIds: readonly string[],
): Promise<void> {
  for (const groupId of groupIds) {
    await commit(async () => {
      const stored = await table.get(memberKey(accountId, groupId, member), StoredMember);
      if (stored) {
        return { value: undefined, ...(await planMemberRemoval(table, accountId, groupId, [stored])), partial: true };
      }
      const writes = await planHolders(table, accountId, [{ subject: member, change: removeGroups([groupId]) }]);
      return { value: undefined, writes, changes: [], housekeeping: true, partial: true };
    });
  }
}

/** The most members that one transaction removes, so that the transaction stays within 100 writes. */
const batchSize = 8;

/** The members who were added first, as many as one transaction removes at most. */
async function firstMembers(table: Reader, accountId: string, groupId: string): Promise<StoredMembers> {
  const { rows } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: batchSize });
  const members = rows.map((row) => GroupMember.parse(row));
  const items = await table.getMany(
    members.map(({ subject_type: type, subject_id: id }) => memberKey(accountId, groupId, { type, id })),
  );
  return items.flatMap((item) => (item ? [StoredMember.parse(item)] : []));
}

/**
 * Removes members from a group in several transactions, until one more transaction can remove the rest. Returns whether
 * a member was removed. Calls `requireTime` after each transaction. `requireTime` can throw.
 */
export async function removeMostMembers(
  { table, commit }: CommitContext,
  accountId: string,
  groupId: string,
  requireTime: () => void,
): Promise<boolean> {
  for (let hasRemoved = false; ; hasRemoved = true) {
    const { total } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: 1 });
    if (total <= batchSize) return hasRemoved;
    await commit(async () => ({
      value: undefined,
      ...(await planMemberRemoval(table, accountId, groupId, await firstMembers(table, accountId, groupId))),
      partial: true,
    }));
    requireTime();
  }
}

/**
 * Plans the removal of the last members of a group that is being deleted. Undefined if one transaction cannot remove
 * all members. The writes fail if a member is added meanwhile.
 */
export async function planLastRemovals(
  table: Reader,
  accountId: string,
  groupId: string,
): Promise<Removal | undefined> {
  const stored = await firstMembers(table, accountId, groupId);
  const state = await readMemberList(table, accountId, groupId, stored);
  if (state.live !== stored.length) return undefined;
  if (stored.length === 0) return { writes: [unchangedList(state)], changes: [] };
  return planMemberRemoval(table, accountId, groupId, stored, state);
}

/**
 * The items that `removeMostMembers` and `planLastRemovals` read if the group has no members. Together, these functions
 * read the head of the list three times.
 */
export function aheadOfLastRemovals(accountId: string, groupId: string): Key[] {
  const { keys = [] } = aheadOfList(membersOf(accountId, groupId));
  return [...keys, ...keys, ...keys];
}

type Membership = z.output<typeof GroupMember>;
type Member = Subject & { type: "user" | "service_account" };

/** Reads the groups of an account. Throws 404 if the account does not have the group. */
async function requireGroup(table: Reader, accountId: string, groupId: string) {
  const record = await readGroups(table, accountId);
  if (!Object.hasOwn(record.groups, groupId)) throw notFound();
  return record;
}

/** The items that `listMembers` reads. */
export function aheadOfMembers(accountId: string, groupId: string, page: PageQuery): Ahead {
  const { keys = [], ...rows } = aheadOfRows(membersOf(accountId, groupId), spanOf(page));
  return { ...rows, keys: [...keys, groupsKey(accountId)] };
}

/**
 * A page of the explicit members of a group, in the order of their addition. Throws 404 for a group that the account
 * does not have.
 */
export async function listMembers(
  accountId: string,
  groupId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: Membership[]; total: number }> {
  const [, { rows, total }] = await Promise.all([
    requireGroup(table, accountId, groupId),
    readRows(table, membersOf(accountId, groupId), spanOf(page)),
  ]);
  return { items: rows.map((row) => GroupMember.parse(row)), total };
}

/** The items that `addMember` reads. */
export function aheadOfNewMember(accountId: string, groupId: string, member: Subject): Ahead {
  const groups = groupsKey(accountId);
  const others = [groups, groups, memberKey(accountId, groupId, member), ...aheadOfHolder(accountId, member)];
  return aheadOfList(membersOf(accountId, groupId), [], others);
}

/**
 * Adds a user or service account to a group. Adding a member again changes nothing. Throws:
 * - 403 `would_escalate` unless the caller holds all permissions that the group gives;
 * - 404 for a group that the account does not have;
 * - 409 `limit_reached` if the member is in too many groups;
 * - 422 for a service account that the account does not have.
 */
export async function addMember(
  accountId: string,
  groupId: string,
  member: Member,
  context: Context,
): Promise<Membership> {
  const { table, commit, now } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, permissionsOfGroup(record, groupId, now()));
  return commit(async () => {
    const current = await requireGroup(table, accountId, groupId);
    const key = memberKey(accountId, groupId, member);
    const { state, others } = await readList(table, membersOf(accountId, groupId), [], [key]);
    if (others[0]) return { value: StoredMember.parse(others[0]), writes: [], changes: [] };
    const added: Membership = {
      group_id: groupId,
      subject_id: member.id,
      subject_type: member.type,
      added_at: now().toISOString(),
    };
    const joined = await forSubject(
      member,
      planHolders(table, accountId, [
        { subject: member, change: (held) => ({ ...held, groups: [...held.groups, groupId] }) },
      ]),
    );
    const pointer: Write = { put: { ...key, ...added, ordinal: state.next }, if: "absent" };
    // The transaction fails if the groups change after `current` was read. If they changed between `record` and
    // `current`, the caller's permissions are checked again.
    const unchanged: Write = { check: { PK: `ACCOUNT#${accountId}`, SK: "GROUPS" }, if: { version: current.version } };
    if (current.version !== record.version)
      await requireToHold(context, accountId, permissionsOfGroup(current, groupId, now()));
    return {
      value: added,
      writes: [...appendRows(state, [added]), pointer, unchanged, ...joined],
      changes: [change(memberKind, "added", member.id, { after: added })],
    };
  });
}

/**
 * The items that `removeMember` reads if the member is a user, and the member's row is in the first block of the list.
 * A block has 4,096 ordinals.
 */
export function aheadOfMemberRemoval(accountId: string, groupId: string, memberId: string): Ahead {
  const keys = MemberType.options.map((type) => memberKey(accountId, groupId, { type, id: memberId }));
  const holder = aheadOfHolder(accountId, { type: "user", id: memberId }, { leaves: true });
  return aheadOfList(membersOf(accountId, groupId), [0], [groupsKey(accountId), ...keys, ...holder]);
}

/**
 * Removes a member from a group. Throws:
 * - 403 `would_escalate` if the group or a group above it owns the account, and the caller is neither an owner nor a
 *   super admin;
 * - 404 if the account does not have the group, or if the group does not have the member.
 */
export async function removeMember(
  accountId: string,
  groupId: string,
  memberId: string,
  context: Context,
): Promise<void> {
  const { table, commit, now } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, ownershipIn(permissionsOfGroup(record, groupId, now()), now()));
  await commit(async () => {
    const keys = MemberType.options.map((type) => memberKey(accountId, groupId, { type, id: memberId }));
    const stored = (await table.getMany(keys)).flatMap((item) => (item ? [StoredMember.parse(item)] : []));
    if (stored.length === 0) throw notFound();
    return { value: undefined, ...(await planMemberRemoval(table, accountId, groupId, stored)) };
  });
}
