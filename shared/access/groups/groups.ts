import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import type * as z from "zod";

import { heightOf, idpNameOf, withAncestors, type GroupsRecord } from "../../accounts/standing.ts";
import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { idWithOrdinal, ordinalOf } from "../../core/ids.ts";
import { spanOf, type PageQuery } from "../../core/page.ts";
import { isSame } from "../../core/same.ts";
import { foldedName } from "../../core/text.ts";
import { groupsWrite, readGroups } from "../../grants/holders.ts";
import { noSuch } from "../../grants/references.ts";
import type { Context } from "../../http/route.ts";
import { appendRows, readList, readRows, rowKey, type List } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { handedByGroup, rankOf, requireToHold } from "../escalation.ts";
import { groupKind, groupView, StoredGroup, type AuthGroup } from "./group-view.ts";

/*
 * Access patterns
 *   groups of an account, and one by the ordinal in its id   ACCOUNT#<id> / LIST#groups
 *   whether a name is taken                                  ACCOUNT#<id> / GROUP_NAME#<SHA-256 of the folded name>
 *   what they hold and how they nest                         ACCOUNT#<id> / GROUPS (access.ts)
 */
export const groupsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "groups" });
const keyOf = (accountId: string, id: string): Key => rowKey(groupsOf(accountId), ordinalOf(id) ?? 2 ** 40);
export const nameKey = (accountId: string, name: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `GROUP_NAME#${createHash("sha256").update(foldedName(name)).digest("hex")}`,
});

const deepest = 16;

type View = z.output<typeof AuthGroup>;
type Attributes = Record<string, unknown>;
type NewGroup = { name: string; attributes?: Attributes | null | undefined; description?: string | null | undefined };

const nameTaken = (found: Record<string, string>) =>
  new Problem("group_name_taken", "Another group of this account has this name.", {
    conflicts_with: found["id"] ?? "",
  });

const claimName = (accountId: string, name: string, id: string): Write => ({
  put: { ...nameKey(accountId, name), id },
  if: "absent",
  orElse: nameTaken,
});

/** Creates a group that holds nothing; 409 `group_name_taken`. */
export async function createGroup(accountId: string, input: NewGroup, { table, commit }: Context): Promise<View> {
  return commit(async () => {
    const { state } = await readList(table, groupsOf(accountId));
    const id = idWithOrdinal(state.next);
    const group: StoredGroup = {
      id,
      account_id: accountId,
      name: input.name,
      idp_name: idpNameOf(accountId, id),
      attributes: JSON.stringify(input.attributes ?? {}),
      description: input.description ?? null,
      version: 1,
    };
    const record = await readGroups(table, accountId);
    const groups = { ...record.groups, [id]: { grants: [] } };
    const writes = [
      ...appendRows(state, [group]),
      claimName(accountId, group.name, id),
      groupsWrite(accountId, record, groups),
    ];
    const view = groupView(group, { ...record, groups }, () => group.name);
    return { value: view, writes, changes: [change(groupKind, "created", id, { after: view })] };
  });
}

/** The group as it is stored, or 404. */
export async function readGroup(table: Reader, accountId: string, id: string): Promise<StoredGroup> {
  const group = await table.get(keyOf(accountId, id), StoredGroup);
  if (group?.id !== id) throw notFound();
  return group;
}

/** The views of groups, with the names of everything above them read in one round trip. */
async function viewsOf(
  table: Reader,
  accountId: string,
  groups: readonly StoredGroup[],
  record: GroupsRecord,
): Promise<View[]> {
  const names = new Map(groups.map(({ id, name }) => [id, name]));
  const above = groups.flatMap(({ id }) => withAncestors(record, [id])).filter((id) => !names.has(id));
  const items = await table.getMany(above.map((id) => keyOf(accountId, id)));
  for (const item of items) {
    const group = StoredGroup.safeParse(item).data;
    if (group) names.set(group.id, group.name);
  }
  return groups.map((group) => groupView(group, record, (id) => names.get(id) ?? ""));
}

/** The view of one group, as `record` says what all groups hold. */
export async function viewOf(table: Reader, group: StoredGroup, record: GroupsRecord): Promise<View> {
  const [view] = await viewsOf(table, group.account_id, [group], record);
  if (!view) throw notFound();
  return view;
}

/** The group, or 404. */
export async function getGroup(accountId: string, id: string, { table }: Context): Promise<View> {
  return viewOf(table, await readGroup(table, accountId, id), await readGroups(table, accountId));
}

/** A page of the account's groups, oldest first. */
export async function listGroups(
  accountId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: View[]; total: number }> {
  const { rows, total } = await readRows(table, groupsOf(accountId), spanOf(page));
  const groups = rows.map((row) => StoredGroup.parse(row));
  return { items: await viewsOf(table, accountId, groups, await readGroups(table, accountId)), total };
}

type GroupChange = { [Name in keyof NewGroup]?: NewGroup[Name] | undefined } & {
  parent_id?: string | null | undefined;
};

/**
 * Changes a group's texts, or moves it into another group or out of one. Moving it in gives its members all
 * that the other group gives, so the caller must hold that: 403 `would_escalate`; 409 `group_cycle`.
 */
export async function updateGroup(accountId: string, id: string, given: GroupChange, context: Context): Promise<View> {
  const { table, commit } = context;
  return commit(async () => {
    const old = await readGroup(table, accountId, id);
    const record = await readGroups(table, accountId);
    const { name = old.name, description = old.description } = given;
    const attributes = attributesOf(old, given);
    const { parent_id: parent = null } = record.groups[id] ?? {};
    if (
      isSame(old, { name, attributes, description }) &&
      (given.parent_id === undefined || given.parent_id === parent)
    ) {
      const view = await viewOf(table, old, record);
      return { value: view, writes: [], changes: [], seen: view };
    }
    const group = { ...old, name, attributes, description, version: old.version + 1 };
    const [from, to] = [nameKey(accountId, old.name), nameKey(accountId, name)];
    const row: Write = { put: { ...keyOf(accountId, id), ...group }, if: { id, version: old.version } };
    const renaming: Write[] = from.SK === to.SK ? [] : [claimName(accountId, name, id), { delete: from }];
    const groups =
      given.parent_id === undefined ? undefined : await moved(accountId, id, given.parent_id, record, context);
    const before = await viewOf(table, old, record);
    const after = await viewOf(table, group, groups ? { ...record, groups } : record);
    return {
      value: after,
      writes: [row, ...renaming, ...(groups ? [groupsWrite(accountId, record, groups)] : [])],
      changes: [change(groupKind, "updated", id, { before, after })],
    };
  });
}

/** A group's attributes as they are to be stored: as they are where nothing of them changes. */
function attributesOf({ attributes: old }: StoredGroup, { attributes }: GroupChange): string {
  const isSame = attributes === undefined || isDeepStrictEqual(attributes ?? {}, JSON.parse(old));
  return isSame ? old : JSON.stringify(attributes ?? {});
}

/** The groups once one is moved. What is looked at is what the write's condition holds on to: nothing can be slipped in between. */
async function moved(
  accountId: string,
  id: string,
  parentId: string | null,
  record: GroupsRecord,
  context: Context,
): Promise<GroupsRecord["groups"]> {
  const { parent_id: _, ...group } = record.groups[id] ?? { grants: [] };
  const above = parentId === null ? [] : withAncestors(record, [parentId]);
  if (parentId !== null && above.length === 0) throw noSuch("parent_id", "group");
  const given = parentId === null ? [] : handedByGroup(record, parentId);
  await requireToHold(context, accountId, [...given, ...rankOf(handedByGroup(record, id))]);
  if (above.includes(id)) throw new Problem("group_cycle", "The other group is inside of this one.");
  if (above.length + heightOf(record, id) > deepest)
    throw new Problem("limit_reached", `Groups nest ${deepest} deep at most.`);
  return { ...record.groups, [id]: parentId === null ? group : { ...group, parent_id: parentId } };
}
