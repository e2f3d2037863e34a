import type * as z from "zod";

import { change } from "../../changes/kind.ts";
import { notFound } from "../../core/errors.ts";
import { spanOf, type PageQuery } from "../../core/page.ts";
import { planHolders, readGroups, type Subject } from "../../grants/holders.ts";
import { forSubject } from "../../grants/references.ts";
import type { Context } from "../../http/route.ts";
import { appendRows, readList, readRows } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { handedByGroup, rankOf, requireToHold } from "../escalation.ts";
import { GroupMember, memberKey, memberKind, membersOf, MemberType, Place } from "./member-places.ts";
import { planRemoval } from "./member-removal.ts";

type Membership = z.output<typeof GroupMember>;
type Member = Subject & { type: "user" | "service_account" };

async function requireGroup(table: Reader, accountId: string, groupId: string) {
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
): Promise<{ items: Membership[]; total: number }> {
  await requireGroup(table, accountId, groupId);
  const { rows, total } = await readRows(table, membersOf(accountId, groupId), spanOf(page));
  return { items: rows.map((row) => GroupMember.parse(row)), total };
}

/**
 * Makes a user or service account a member; who is one already stays as they were. The caller must hold all
 * that the group gives: 403 `would_escalate`. 404 for a group the account does not have, 422 for such a service account.
 */
export async function addMember(
  accountId: string,
  groupId: string,
  member: Member,
  context: Context,
): Promise<Membership> {
  const { table, commit, now } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, handedByGroup(record, groupId));
  return commit(async () => {
    const { version } = await requireGroup(table, accountId, groupId);
    const key = memberKey(accountId, groupId, member);
    const { state, others } = await readList(table, membersOf(accountId, groupId), [], [key]);
    if (others[0]) return { value: Place.parse(others[0]), writes: [], changes: [] };
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
    const place: Write = { put: { ...key, ...added, ordinal: state.next }, if: "absent" };
    // The group must still be as it was when the caller's right to give it was looked at.
    const unchanged: Write = { check: { PK: `ACCOUNT#${accountId}`, SK: "GROUPS" }, if: { version } };
    if (version !== record.version)
      await requireToHold(context, accountId, handedByGroup(await readGroups(table, accountId), groupId));
    return {
      value: added,
      writes: [...appendRows(state, [added]), place, unchanged, ...joined],
      changes: [change(memberKind, "added", member.id, { after: added })],
    };
  });
}

/** Takes a member out of a group; 404, and only owners take out of a group that owns the account. */
export async function removeMember(
  accountId: string,
  groupId: string,
  memberId: string,
  context: Context,
): Promise<void> {
  const { table, commit } = context;
  const record = await requireGroup(table, accountId, groupId);
  await requireToHold(context, accountId, rankOf(handedByGroup(record, groupId)));
  await commit(async () => {
    const either = MemberType.options.map((type) => memberKey(accountId, groupId, { type, id: memberId }));
    const places = (await table.getMany(either)).flatMap((place) => (place ? [Place.parse(place)] : []));
    if (places.length === 0) throw notFound();
    return { value: undefined, ...(await planRemoval(table, accountId, groupId, places)) };
  });
}
