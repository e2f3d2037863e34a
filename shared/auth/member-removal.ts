import type * as z from "zod";

import { readList, readRows, removeRows, unchangedList, type ListState } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { planHolders, type HolderChange, type Subject } from "./holders.ts";
import { GroupMember, memberKey, membersOf, Place } from "./member-places.ts";

type Places = z.output<typeof Place>[];

const readMemberList = async (table: Table, accountId: string, groupId: string, places: Places): Promise<ListState> => {
  const ordinals = places.map(({ ordinal }) => ordinal);
  return (await readList(table, membersOf(accountId, groupId), ordinals)).state;
};

/** The writes that take members out of a group. */
export async function planRemoval(
  table: Table,
  accountId: string,
  groupId: string,
  places: Places,
  state?: ListState,
): Promise<Write[]> {
  if (places.length === 0) return [];
  const left = await planHolders(
    table,
    accountId,
    places.map(({ subject_id, subject_type }) => ({
      subject: { type: subject_type, id: subject_id },
      change: (held) => ({ ...held, groups: held.groups.filter((id) => id !== groupId) }),
    })),
  );
  const pointers = places.map(({ subject_id: id, subject_type: type }): Write => ({
    delete: memberKey(accountId, groupId, { type, id }),
  }));
  const list = state ?? (await readMemberList(table, accountId, groupId, places));
  return [
    ...removeRows(
      list,
      places.map(({ ordinal }) => ordinal),
    ),
    ...pointers,
    ...left,
  ];
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
      const place = await table.get(memberKey(accountId, groupId, member), Place);
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

async function firstMembers(table: Table, accountId: string, groupId: string): Promise<Places> {
  const { rows } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: membersAtOnce });
  const members = rows.map((row) => GroupMember.parse(row));
  const places = await table.getMany(
    members.map(({ subject_type: type, subject_id: id }) => memberKey(accountId, groupId, { type, id })),
  );
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

/**
 * The writes that take out the last members of a group that goes, and fail when somebody joins meanwhile;
 * undefined while there are more than one transaction takes.
 */
export async function planMembersGone(table: Table, accountId: string, groupId: string): Promise<Write[] | undefined> {
  const places = await firstMembers(table, accountId, groupId);
  const state = await readMemberList(table, accountId, groupId, places);
  if (state.live !== places.length) return undefined;
  return places.length === 0 ? [unchangedList(state)] : planRemoval(table, accountId, groupId, places, state);
}
