import type { GroupsRecord } from "../../accounts/standing.ts";
import { groupsKey } from "../../accounts/standing.ts";
import { change } from "../../changes/kind.ts";
import type { ChangePlan } from "../../changes/recorder.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { requireMatch } from "../../core/etag.ts";
import { ordinalOf } from "../../core/ids.ts";
import { getAssignments, planRevocation } from "../../grants/assignments.ts";
import { groupsWrite, readGroups } from "../../grants/holders.ts";
import { startTimer } from "../../http/request-time.ts";
import type { Context } from "../../http/route.ts";
import { readList, removeRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { planNameRemoval } from "../../table/reserved-name.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { permissionsOfGroup, ownershipIn, requireToHold } from "../escalation.ts";
import { groupKind, groupsOf, groupNameKeys, readGroup, groupView, aheadOfGroupRow } from "./group.ts";
import { removeMostMembers, planLastRemovals, aheadOfLastRemovals } from "./members.ts";

/** The items that `deleteGroup` reads if the group has no members and no grants. */
export function aheadOfGroupDeletion(accountId: string, id: string): Ahead {
  const groups = groupsKey(accountId);
  const { keys = [] } = aheadOfGroupRow(accountId, id);
  return { keys: [...keys, groups, groups, ...aheadOfLastRemovals(accountId, id)] };
}

/**
 * Deletes a group with its grants and memberships. Most members of a large group are removed first, and then the grants
 * are revoked, some in each transaction. The last transaction deletes the group and the last memberships. If the
 * process dies before the end, a smaller group is left. The caller can delete this group again. Throws:
 * - 403 `would_escalate` if the group or a group above it owns the account, and the caller is neither an owner nor a
 *   super admin;
 * - 404 if the account does not have the group;
 * - 409 `group_not_empty` if the group contains other groups;
 * - 503 `busy` if something is left after 18 seconds. Each further call deletes more.
 */
export async function deleteGroup(accountId: string, id: string, context: Context): Promise<void> {
  const { table, commit, now } = context;
  const readDeletable = async (): Promise<GroupsRecord> => {
    const record = await readGroups(table, accountId);
    checkNoSubgroups(record, id);
    await requireToHold(context, accountId, ownershipIn(permissionsOfGroup(record, id, now()), now()));
    return record;
  };
  const before = await readDeletable();
  // The deletion can take several transactions, so `If-Match` is compared before the first transaction.
  if (context.ifMatch) {
    const seen = await groupView(table, await readGroup(table, accountId, id), before, now());
    requireMatch(context.ifMatch, seen);
  }
  const isOver = startTimer(context);
  const requireTime = (): void => {
    if (isOver())
      throw new Problem("busy", "The group has too much to delete in one call. Repeat the call.", { retry_after: 1 });
  };
  let [isDeleted, hasBegun] = [false, false];
  while (!isDeleted) {
    if (hasBegun) requireTime();
    const hasRemoved = await removeMostMembers(context, accountId, id, requireTime);
    // An earlier transaction may have changed the group, so the last transaction must not compare `If-Match` again.
    const matched = hasBegun || hasRemoved;
    isDeleted = await commit(async () => {
      const current = await readDeletable();
      const { grants = [], owner_grant_id } = current.groups[id] ?? {};
      const ids = [...grants.map((grant) => grant.id), ...(owner_grant_id === undefined ? [] : [owner_grant_id])];
      // A transaction has at most 100 writes, so it revokes at most 20 grants.
      const batch = (await getAssignments(table, accountId, ids)).slice(0, 20);
      return batch.length > 0
        ? { value: false, ...(await planRevocation(table, accountId, batch, now())), partial: true }
        : { matched, ...(await planGroupDeletion(table, accountId, id, current, now())) };
    });
    hasBegun = true;
  }
}

/**
 * Plans the deletion of a group without grants, and of its last memberships. The transaction fails if the record of all
 * groups has changed since `record` was read. If the group has more members than one transaction can remove, plans
 * nothing, and the value is false.
 */
async function planGroupDeletion(
  table: Reader,
  accountId: string,
  id: string,
  record: GroupsRecord,
  now: Date,
): Promise<ChangePlan<boolean>> {
  // An id without an ordinal gets an ordinal that no group has.
  const ordinal = ordinalOf(id) ?? 2 ** 40;
  const [members, { state }, group] = await Promise.all([
    planLastRemovals(table, accountId, id),
    readList(table, groupsOf(accountId), [ordinal]),
    readGroup(table, accountId, id),
  ]);
  if (!members) return { value: false, writes: [], changes: [], partial: true };
  const { [id]: _, ...groups } = record.groups;
  const row = removeRows(state, [ordinal], { if: { id, version: group.version } });
  const name = await planNameRemoval(table, groupNameKeys(accountId, group.name), id);
  const others: Write[] = [...name, groupsWrite(accountId, record, groups)];
  const deletion = change(groupKind, "deleted", id, { before: await groupView(table, group, record, now) });
  return { value: true, writes: [...row, ...others, ...members.writes], changes: [deletion, ...members.changes] };
}

function checkNoSubgroups({ groups }: GroupsRecord, id: string): void {
  if (!Object.hasOwn(groups, id)) throw notFound();
  const subgroups = Object.entries(groups).flatMap(([child, { parent_id }]) => (parent_id === id ? [child] : []));
  if (subgroups.length === 0) return;
  throw new Problem(
    "group_not_empty",
    "This group contains other groups. Delete those groups or move them out first.",
    {
      subgroup_ids: subgroups,
    },
  );
}
