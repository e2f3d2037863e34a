import type { GroupsRecord } from "../../accounts/standing.ts";
import { groupsKey } from "../../accounts/standing.ts";
import { change } from "../../changes/kind.ts";
import type { ChangePlan } from "../../changes/recorder.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { requireMatch } from "../../core/etag.ts";
import { ordinalOf } from "../../core/ids.ts";
import { getAssignments, planRevocation } from "../../grants/assignments.ts";
import { groupsWrite, readGroups } from "../../grants/holders.ts";
import type { Context } from "../../http/route.ts";
import { readList, removeRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { handedByGroup, ownershipIn, requireToHold } from "../escalation.ts";
import { groupKind, groupsOf, groupNameKey, readGroup, groupView, aheadOfGroupRow } from "./group.ts";
import { removeMostMembers, planLastRemovals, aheadOfLastRemovals } from "./members.ts";

/** The items that `deleteGroup` reads of a group without members. */
export function aheadOfGroupDeletion(accountId: string, id: string): Ahead {
  const groups = groupsKey(accountId);
  const { keys = [] } = aheadOfGroupRow(accountId, id);
  return { keys: [...keys, groups, groups, ...aheadOfLastRemovals(accountId, id)] };
}

/**
 * Deletes a group with its grants and memberships. Throws 404, 409 `group_not_empty` while it contains other groups,
 * and 403 `would_escalate` if the group has ownership of the account and the caller does not.
 * - The members and grants of a large group are deleted first, some in each transaction.
 * - If the process dies before the end, a smaller group is left. Deleting it again completes the work.
 */
export async function deleteGroup(accountId: string, id: string, context: Context): Promise<void> {
  const { table, commit, now } = context;
  const readDeletable = async (): Promise<GroupsRecord> => {
    const record = await readGroups(table, accountId);
    checkNoSubgroups(record, id);
    await requireToHold(context, accountId, ownershipIn(handedByGroup(record, id)));
    return record;
  };
  const before = await readDeletable();
  // Deleting a large group takes several transactions. The group must be as the caller saw it before the first of them.
  if (context.ifMatch) {
    const seen = await groupView(table, await readGroup(table, accountId, id), before);
    requireMatch(context.ifMatch, seen);
  }
  for (let isGone = false, isBegun = false; !isGone; isBegun = true) {
    isBegun = (await removeMostMembers(context, accountId, id)) || isBegun;
    isGone = await commit(async () => {
      const current = await readDeletable();
      const { grants = [], owner_grant_id } = current.groups[id] ?? {};
      const ids = [...grants.map((grant) => grant.id), ...(owner_grant_id === undefined ? [] : [owner_grant_id])];
      const some = (await getAssignments(table, accountId, ids)).slice(0, 20);
      return some.length > 0
        ? { value: false, ...(await planRevocation(table, accountId, some, now())) }
        : { matched: isBegun, ...(await planGroupDeletion(table, accountId, id, current)) };
    });
  }
}

/**
 * Plans the deletion of a group without grants, together with its last members. The transaction fails if any group has
 * changed since `record`. The value is false if the group has more members than one transaction can remove; then
 * nothing is planned.
 */
async function planGroupDeletion(
  table: Reader,
  accountId: string,
  id: string,
  record: GroupsRecord,
): Promise<ChangePlan<boolean>> {
  const ordinal = ordinalOf(id) ?? 2 ** 40;
  const [members, { state }, group] = await Promise.all([
    planLastRemovals(table, accountId, id),
    readList(table, groupsOf(accountId), [ordinal]),
    readGroup(table, accountId, id),
  ]);
  if (!members) return { value: false, writes: [], changes: [] };
  const { [id]: _, ...groups } = record.groups;
  const row = removeRows(state, [ordinal], { if: { id, version: group.version } });
  const rest: Write[] = [{ delete: groupNameKey(accountId, group.name) }, groupsWrite(accountId, record, groups)];
  const gone = change(groupKind, "deleted", id, { before: await groupView(table, group, record) });
  return { value: true, writes: [...row, ...rest, ...members.writes], changes: [gone, ...members.changes] };
}

function checkNoSubgroups({ groups }: GroupsRecord, id: string): void {
  if (!Object.hasOwn(groups, id)) throw notFound();
  const inside = Object.entries(groups).flatMap(([child, { parent_id }]) => (parent_id === id ? [child] : []));
  if (inside.length === 0) return;
  throw new Problem("group_not_empty", "This group has other groups inside. Delete them or move them out first.", {
    subgroup_ids: inside,
  });
}
