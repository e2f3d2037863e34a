import type * as z from "zod";

import { change, type Change } from "../../changes/kind.ts";
import { planHolders, type HolderChange, type Subject } from "../../grants/holders.ts";
import type { Context } from "../../http/route.ts";
import { readList, readRows, removeRows, unchangedList, type ListState } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { GroupMember, memberKey, memberKind, membersOf, Place } from "./member-places.ts";

type Places = z.output<typeof Place>[];

const readMemberList = async (
  table: Reader,
  accountId: string,
  groupId: string,
  places: Places,
): Promise<ListState> => {
  const ordinals = places.map(({ ordinal }) => ordinal);
  return (await readList(table, membersOf(accountId, groupId), ordinals)).state;
};

type Removal = { writes: Write[]; changes: Change[] };

/** What takes members out of a group. */
export async function planRemoval(
  table: Reader,
  accountId: string,
  groupId: string,
  places: Places,
  state?: ListState,
): Promise<Removal> {
  if (places.length === 0) return { writes: [], changes: [] };
  const left = await planHolders(
    table,
    accountId,
    places.map(({ subject_id: id, subject_type: type }) => ({ subject: { type, id }, change: outOf([groupId]) })),
  );
  const { writes, changes } = await planUnlisted(table, accountId, groupId, places, state);
  return { writes: [...writes, ...left], changes };
}

/** What somebody holds once they are out of groups. */
const outOf =
  (groupIds: readonly string[]): HolderChange["change"] =>
  (held) => ({ ...held, groups: held.groups.filter((id) => !groupIds.includes(id)) });

/** What takes members off the list of a group, where what they hold is changed by other means. */
async function planUnlisted(
  table: Reader,
  accountId: string,
  groupId: string,
  places: Places,
  state?: ListState,
): Promise<Removal> {
  const pointers = places.map(({ subject_id: id, subject_type: type }): Write => ({
    delete: memberKey(accountId, groupId, { type, id }),
  }));
  const list = state ?? (await readMemberList(table, accountId, groupId, places));
  const rows = removeRows(
    list,
    places.map(({ ordinal }) => ordinal),
  );
  return {
    writes: [...rows, ...pointers],
    changes: places.map((place) => change(memberKind, "removed", place.subject_id, { before: place })),
  };
}

/** What takes a member off the lists of groups, and the change of what it holds that must go with it. */
export async function planLeft(
  table: Reader,
  accountId: string,
  member: Subject,
  groupIds: readonly string[],
): Promise<Removal & { holder: HolderChange["change"] }> {
  const left = await Promise.all(
    groupIds.map(async (groupId) => {
      const place = await table.get(memberKey(accountId, groupId, member), Place);
      return place ? planUnlisted(table, accountId, groupId, [place]) : { writes: [], changes: [] };
    }),
  );
  return {
    writes: left.flatMap(({ writes }) => writes),
    changes: left.flatMap(({ changes }) => changes),
    holder: outOf(groupIds),
  };
}

/** What several transactions of one call need. */
export type Work = Pick<Context, "table" | "commit">;

/** Takes a member out of groups, one at a time; a group that is gone meanwhile is left as well. */
export async function leaveGroups(
  { table, commit }: Work,
  accountId: string,
  member: Subject,
  groupIds: readonly string[],
): Promise<void> {
  for (const groupId of groupIds) {
    await commit(async () => {
      const place = await table.get(memberKey(accountId, groupId, member), Place);
      if (place) return { value: undefined, ...(await planRemoval(table, accountId, groupId, [place])) };
      const writes = await planHolders(table, accountId, [{ subject: member, change: outOf([groupId]) }]);
      return { value: undefined, writes, changes: [], housekeeping: true };
    });
  }
}

const membersAtOnce = 8;

async function firstMembers(table: Reader, accountId: string, groupId: string): Promise<Places> {
  const { rows } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: membersAtOnce });
  const members = rows.map((row) => GroupMember.parse(row));
  const places = await table.getMany(
    members.map(({ subject_type: type, subject_id: id }) => memberKey(accountId, groupId, { type, id })),
  );
  return places.flatMap((place) => (place ? [Place.parse(place)] : []));
}

/** Takes out members, some in each transaction, until few enough are left for one more; whether it did. */
export async function dropMembers({ table, commit }: Work, accountId: string, groupId: string): Promise<boolean> {
  for (let some = false; ; some = true) {
    const { total } = await readRows(table, membersOf(accountId, groupId), { skip: 0, take: 1 });
    if (total <= membersAtOnce) return some;
    await commit(async () => ({
      value: undefined,
      ...(await planRemoval(table, accountId, groupId, await firstMembers(table, accountId, groupId))),
    }));
  }
}

/**
 * What takes out the last members of a group that goes, and fail when somebody joins meanwhile;
 * undefined while there are more than one transaction takes.
 */
export async function planMembersGone(table: Reader, accountId: string, groupId: string): Promise<Removal | undefined> {
  const places = await firstMembers(table, accountId, groupId);
  const state = await readMemberList(table, accountId, groupId, places);
  if (state.live !== places.length) return undefined;
  if (places.length === 0) return { writes: [unchangedList(state)], changes: [] };
  return planRemoval(table, accountId, groupId, places, state);
}
