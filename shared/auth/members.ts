import * as z from "zod";

import { notFound } from "../errors.ts";
import { Id } from "../ids.ts";
import { spanOf, type PageQuery } from "../page.ts";
import type { Context } from "../route.ts";
import { appendRows, readList, readRows, removeRows, type List } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { Timestamp } from "../time.ts";
import { handedByGroup, rankOf, requireToHold } from "./escalation.ts";
import { planHolders, readGroups, type HolderChange, type Subject } from "./holders.ts";

/*
 * Access patterns
 *   explicit members of a group, oldest first   ACCOUNT#<id> / LIST#members/<group id>
 *   where a member stands in that list          ACCOUNT#<id> / MEMBER#<group id>#<member id>
 *   the groups of a member                      its own access record (access.ts)
 */
const membersOf = (accountId: string, groupId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: `members/${groupId}`,
});
const memberKey = (accountId: string, groupId: string, memberId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MEMBER#${groupId}#${memberId}`,
});

export const MemberType = z.enum(["user", "service_account"]).meta({ description: "What the member is." });

export const GroupMember = z
  .object({
    group_id: Id.meta({ description: "The group." }),
    subject_id: Id.meta({ description: "The member: a user or a service account." }),
    subject_type: MemberType,
    added_at: Timestamp.meta({ description: "When it was made a member." }),
  })
  .meta({ id: "GroupMember", description: "An explicit member of a group; tokens can name further ones." });
type GroupMember = z.output<typeof GroupMember>;

const Place = GroupMember.extend({ ordinal: z.int() });
type Member = Subject & { type: "user" | "service_account" };

async function requireGroup(table: Table, accountId: string, groupId: string) {
  const record = await readGroups(table, accountId);
  if (!Object.hasOwn(record.groups, groupId)) throw notFound();
  return record;
}

/** A page of the explicit members of a group, in the order they were added; 404. */
export async function listMembers(
  accountId: string,
  groupId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: GroupMember[]; total: number }> {
  await requireGroup(table, accountId, groupId);
  const { rows, total } = await readRows(table, membersOf(accountId, groupId), spanOf(page));
  return { items: rows.map((row) => GroupMember.parse(row)), total };
}

/**
 * Makes a user or service account a member; who is one already stays as they were. The caller must hold all
 * that the group gives: 403 `would_escalate`. 404 for a group or service account the account does not have.
 */
export async function addMember(
  accountId: string,
  groupId: string,
  member: Member,
  context: Context,
): Promise<GroupMember> {
  const { table, now } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, handedByGroup(record, groupId));
  return table.commit(async () => {
    const { version } = await requireGroup(table, accountId, groupId);
    const key = memberKey(accountId, groupId, member.id);
    const { state, others } = await readList(table, membersOf(accountId, groupId), [], [key]);
    if (others[0]) return { value: Place.parse(others[0]), writes: [] };
    const added: GroupMember = {
      group_id: groupId,
      subject_id: member.id,
      subject_type: member.type,
      added_at: now().toISOString(),
    };
    const joined = await planHolders(table, accountId, [
      { subject: member, change: (held) => ({ ...held, groups: [...held.groups, groupId] }) },
    ]);
    const place: Write = { put: { ...key, ...added, ordinal: state.next }, if: "absent" };
    // The group must still be as it was when the caller's right to give it was looked at.
    const unchanged: Write = { check: { PK: `ACCOUNT#${accountId}`, SK: "GROUPS" }, if: { version } };
    if (version !== record.version)
      await requireToHold(context, accountId, handedByGroup(await readGroups(table, accountId), groupId));
    return { value: added, writes: [...appendRows(state, [added]), place, unchanged, ...joined] };
  });
}

/** Takes a member out of a group; 404, and only owners take out of a group that owns the account. */
export async function removeMember(
  accountId: string,
  groupId: string,
  memberId: string,
  context: Context,
): Promise<void> {
  const { table } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, rankOf(handedByGroup(record, groupId)));
  await table.commit(async () => {
    const place = await table.get(memberKey(accountId, groupId, memberId), Place);
    if (!place) throw notFound();
    return { value: undefined, writes: await planRemoval(table, accountId, groupId, [place]) };
  });
}

async function planRemoval(
  table: Table,
  accountId: string,
  groupId: string,
  places: readonly z.output<typeof Place>[],
): Promise<Write[]> {
  if (places.length === 0) return [];
  const ordinals = places.map(({ ordinal }) => ordinal);
  const { state } = await readList(table, membersOf(accountId, groupId), ordinals);
  const left = await planHolders(
    table,
    accountId,
    places.map(({ subject_id, subject_type }) => ({
      subject: { type: subject_type, id: subject_id },
      change: (held) => ({ ...held, groups: held.groups.filter((id) => id !== groupId) }),
    })),
  );
  const pointers = places.map(({ subject_id }): Write => ({ delete: memberKey(accountId, groupId, subject_id) }));
  return [...removeRows(state, ordinals), ...pointers, ...left];
}

/** Takes a member out of groups, one at a time; a group that is gone meanwhile is left as well. */
export async function leaveGroups(
  table: Table,
  accountId: string,
  member: Subject,
  groupIds: readonly string[],
): Promise<void> {
  for (const groupId of groupIds) {
    await table.commit(async () => {
      const place = await table.get(memberKey(accountId, groupId, member.id), Place);
      const change: HolderChange["change"] = (held) => ({
        ...held,
        groups: held.groups.filter((id) => id !== groupId),
      });
      const writes = place
        ? await planRemoval(table, accountId, groupId, [place])
        : await planHolders(table, accountId, [{ subject: member, change }]);
      return { value: undefined, writes };
    });
  }
}

const membersAtOnce = 8;

async function firstMembers(table: Table, accountId: string, groupId: string): Promise<z.output<typeof Place>[]> {
  const { rows } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: membersAtOnce });
  const ids = rows.map((row) => GroupMember.parse(row).subject_id);
  const places = await table.getMany(ids.map((id) => memberKey(accountId, groupId, id)));
  return places.flatMap((place) => (place ? [Place.parse(place)] : []));
}

/** Takes out members, some in each transaction, until few enough are left for one more. */
export async function dropMembers(table: Table, accountId: string, groupId: string): Promise<void> {
  for (;;) {
    const { total } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: 1 });
    if (total <= membersAtOnce) return;
    await table.commit(async () => ({
      value: undefined,
      writes: await planRemoval(table, accountId, groupId, await firstMembers(table, accountId, groupId)),
    }));
  }
}

/** The writes that take out the last few members of a group that goes. */
export async function planMembersGone(table: Table, accountId: string, groupId: string): Promise<Write[]> {
  return planRemoval(table, accountId, groupId, await firstMembers(table, accountId, groupId));
}
