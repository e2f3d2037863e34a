import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { type GroupsRecord, heightOf, idpNameOf, withAncestors, groupsKey } from "../../accounts/standing.ts";
import { Capability, RoleKey, capabilities } from "../../auth/capabilities.ts";
import { ResourceType, capabilitiesOf } from "../../auth/permissions.ts";
import { change, defineKind } from "../../changes/kind.ts";
import { Problem, notFound } from "../../core/errors.ts";
import { Attributes, isSame } from "../../core/fields.ts";
import { Id, idWithOrdinal, ordinalOf } from "../../core/ids.ts";
import { type PageQuery, spanOf } from "../../core/page.ts";
import { foldedName, line, lines, orNothing } from "../../core/text.ts";
import { groupsWrite, readGroups } from "../../grants/holders.ts";
import { noSuch } from "../../grants/references.ts";
import type { Context } from "../../http/route.ts";
import {
  type List,
  appendRows,
  readList,
  readRows,
  rowKey,
  aheadOfList,
  aheadOfRows,
} from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { handedByGroup, ownershipIn, requireToHold } from "../escalation.ts";

export const GroupParams = AccountParams.extend({ group_id: Id.meta({ description: "The group's id." }) });

export const GroupName = line({
  most: 255,
  description: "The group's name, unique in the account ignoring case, without a slash.",
}).regex(/^[^/]*$/, { error: "A slash is not allowed: it separates the names in a path" });

export const GroupDescription = orNothing(lines({ least: 0, most: 2_000, description: "A description for people." }));

export const GroupAttributes = Attributes.nullish().meta({
  description: "Your own data to store with the group, up to 8 KiB of JSON and 20 levels deep.",
});

const PermissionContext = z
  .object({
    assigned_bundle_keys: z.array(RoleKey).meta({ description: "The roles assigned to the group itself." }),
    direct_capability_keys: z.array(Capability).meta({ description: "The capabilities granted to the group itself." }),
    owner_assignments: z
      .array(z.object({ account_id: Id.meta({ description: "The account." }) }))
      .meta({ description: "The accounts the group owns." }),
    resolved_capability_keys: z.array(Capability).meta({
      description:
        "All capabilities that the members hold through the group, on any scope: its own and the inherited ones.",
    }),
    status: z.string().meta({ description: "`active`." }),
    subject_id: Id.meta({ description: "The group's id." }),
    subject_type: z.string().meta({ description: "`group`." }),
  })
  .meta({ id: "PermissionContext", description: "What the group gives its members." });

export const AuthGroup = z
  .object({
    id: Id.meta({ description: "The group's id." }),
    account_id: Id.meta({ description: "The account that the group belongs to." }),
    name: z.string().meta({ description: "The group's name, unique in its account ignoring case." }),
    idp_name: z.string().meta({
      description: "The group's name in the `groups` claim of a token. It is never used again for another group.",
    }),
    attributes: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "Your own data that is stored with the group." }),
    description: z.string().nullable().optional().meta({ description: "A description for people." }),
    idp_account_id: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "The identity provider's name for the account." }),
    linked_scopes: z
      .array(
        z.object({
          resource_id: z.string().meta({ description: "The resource." }),
          resource_type: ResourceType.meta({ description: "The type of the resource." }),
        }),
      )
      .optional()
      .meta({ description: "The resources to which the group's own grants are narrowed." }),
    parent_id: Id.nullable().optional().meta({ description: "The parent group. This group inherits its grants." }),
    path: z.string().nullable().optional().meta({ description: "The names from the outermost group to this one." }),
    subgroup_ids: z.array(Id).optional().meta({ description: "The groups directly inside this group." }),
    permission_context: PermissionContext.optional(),
  })
  .meta({ id: "AuthGroup", description: "A group of users and service accounts." });

export const groupKind = defineKind({
  name: "auth.group",
  verbs: ["created", "updated", "deleted"],
  view: AuthGroup,
  own: AuthGroup.omit({ linked_scopes: true, path: true, subgroup_ids: true, permission_context: true }),
  seenWith: "auth.manage",
});

export const StoredGroup = z.object({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  idp_name: z.string(),
  /** JSON text, because a DynamoDB map has limits on depth and numbers that JSON does not have. */
  attributes: z.string(),
  description: z.string().nullable(),
  version: z.int(),
});
export type StoredGroup = z.output<typeof StoredGroup>;

/**
 * The view of a group that the specification defines, from its stored row, the grants of all groups, and the names of
 * the groups above it.
 */
export function storedGroupView(
  group: StoredGroup,
  record: GroupsRecord,
  nameOf: (id: string) => string,
): z.output<typeof AuthGroup> {
  const { id, account_id } = group;
  const lineage = withAncestors(record, [id]);
  const own = record.groups[id] ?? { grants: [] };
  const scopes = new Map(own.grants.flatMap(({ scope }) => (scope ? [[`${scope.type} ${scope.id}`, scope]] : [])));
  return {
    ...group,
    attributes: JSON.parse(group.attributes) as Record<string, unknown>,
    idp_account_id: account_id,
    linked_scopes: [...scopes.values()].map((scope) => ({ resource_id: scope.id, resource_type: scope.type })),
    parent_id: own.parent_id ?? null,
    path: `/${lineage.toReversed().map(nameOf).join("/")}`,
    // A stored map has no order; ids of groups sort by age.
    subgroup_ids: Object.keys(record.groups)
      .filter((child) => record.groups[child]?.parent_id === id)
      .toSorted(),
    permission_context: {
      assigned_bundle_keys: [...new Set(own.grants.flatMap(({ role }) => role ?? []))],
      direct_capability_keys: [...new Set(own.grants.flatMap(({ capability }) => capability ?? []))],
      owner_assignments: own.owner_grant_id === undefined ? [] : [{ account_id }],
      resolved_capability_keys: resolvedCapabilities(record, lineage),
      status: "active",
      subject_id: id,
      subject_type: "group",
    },
  };
}

/** The capabilities that any of these groups gives, on any scope. */
function resolvedCapabilities(record: GroupsRecord, lineage: readonly string[]): z.output<typeof Capability>[] {
  const holders = lineage.flatMap((id) => record.groups[id] ?? []);
  if (holders.some(({ owner_grant_id }) => owner_grant_id !== undefined)) return [...capabilities];
  const held = new Set(holders.flatMap(({ grants }) => grants.flatMap(capabilitiesOf)));
  return capabilities.filter((capability) => held.has(capability));
}

/*
 * Access patterns
 *   groups of an account, and one by the ordinal in its id   ACCOUNT#<id> / LIST#groups
 *   whether a name is taken                                  ACCOUNT#<id> / GROUP_NAME#<SHA-256 of the folded name>
 *   what they hold and how they nest                         ACCOUNT#<id> / GROUPS (shared/accounts/standing.ts)
 */
export const groupsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "groups" });
const groupKey = (accountId: string, id: string): Key => rowKey(groupsOf(accountId), ordinalOf(id) ?? 2 ** 40);
export const groupNameKey = (accountId: string, name: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `GROUP_NAME#${createHash("sha256").update(foldedName(name)).digest("hex")}`,
});

const deepest = 16;

type GroupView = z.output<typeof AuthGroup>;
type AttributesOf = Record<string, unknown>;
type NewGroup = { name: string; attributes?: AttributesOf | null | undefined; description?: string | null | undefined };

const nameTaken = (found: Record<string, string>) =>
  new Problem("group_name_taken", "Another group of this account has this name.", {
    conflicts_with: found["id"] ?? "",
  });

const claimName = (accountId: string, name: string, id: string): Write => ({
  put: { ...groupNameKey(accountId, name), id },
  if: "absent",
  orElse: nameTaken,
});

/** The items that `createGroup` reads. */
export const aheadOfNewGroup = (accountId: string): Ahead =>
  aheadOfList(groupsOf(accountId), [], [groupsKey(accountId)]);

/** Creates a group that holds nothing. Throws 409 `group_name_taken`. */
export async function createGroup(accountId: string, input: NewGroup, { table, commit }: Context): Promise<GroupView> {
  return commit(async () => {
    const [{ state }, record] = await Promise.all([readList(table, groupsOf(accountId)), readGroups(table, accountId)]);
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
    const groups = { ...record.groups, [id]: { grants: [] } };
    const writes = [
      ...appendRows(state, [group]),
      claimName(accountId, group.name, id),
      groupsWrite(accountId, record, groups),
    ];
    const view = storedGroupView(group, { ...record, groups }, () => group.name);
    return { value: view, writes, changes: [change(groupKind, "created", id, { after: view })] };
  });
}

/** The items that `getGroup` and `updateGroup` read first. */
export const aheadOfGroup = (accountId: string, id: string): Ahead => ({
  keys: [groupKey(accountId, id), groupsKey(accountId)],
});

/** The items of the group that `deleteGroup` reads. */
export const aheadOfGroupRow = (accountId: string, id: string): Ahead => {
  const row = groupKey(accountId, id);
  return aheadOfList(groupsOf(accountId), [ordinalOf(id) ?? 0], [row, row]);
};

/** The group as it is stored. Throws 404. */
export async function readGroup(table: Reader, accountId: string, id: string): Promise<StoredGroup> {
  const group = await table.get(groupKey(accountId, id), StoredGroup);
  if (group?.id !== id) throw notFound();
  return group;
}

/** The views of groups, with the names of all groups above them, which one round trip reads. */
async function viewsOf(
  table: Reader,
  accountId: string,
  groups: readonly StoredGroup[],
  record: GroupsRecord,
): Promise<GroupView[]> {
  const names = new Map(groups.map(({ id, name }) => [id, name]));
  const above = groups.flatMap(({ id }) => withAncestors(record, [id])).filter((id) => !names.has(id));
  const items = await table.getMany(above.map((id) => groupKey(accountId, id)));
  for (const item of items) {
    const group = StoredGroup.safeParse(item).data;
    if (group) names.set(group.id, group.name);
  }
  return groups.map((group) => storedGroupView(group, record, (id) => names.get(id) ?? ""));
}

/** The view of one group. `record` has the grants of all groups. */
export async function groupView(table: Reader, group: StoredGroup, record: GroupsRecord): Promise<GroupView> {
  const [view] = await viewsOf(table, group.account_id, [group], record);
  if (!view) throw notFound();
  return view;
}

/** The grants of all groups: `early`, or read again if a group was created after that. */
async function withGroups(
  table: Reader,
  accountId: string,
  groups: readonly StoredGroup[],
  early: GroupsRecord,
): Promise<GroupsRecord> {
  return groups.every(({ id }) => Object.hasOwn(early.groups, id)) ? early : readGroups(table, accountId);
}

/** The group. Throws 404. */
export async function getGroup(accountId: string, id: string, { table }: Context): Promise<GroupView> {
  const [group, early] = await Promise.all([readGroup(table, accountId, id), readGroups(table, accountId)]);
  return groupView(table, group, await withGroups(table, accountId, [group], early));
}

/** The items that `listGroups` reads first. */
export function aheadOfGroups(accountId: string, page: PageQuery): Ahead {
  const { keys = [], ...rows } = aheadOfRows(groupsOf(accountId), spanOf(page));
  return { ...rows, keys: [...keys, groupsKey(accountId)] };
}

/** A page of the account's groups, oldest first. */
export async function listGroups(
  accountId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: GroupView[]; total: number }> {
  const [{ rows, total }, early] = await Promise.all([
    readRows(table, groupsOf(accountId), spanOf(page)),
    readGroups(table, accountId),
  ]);
  const groups = rows.map((row) => StoredGroup.parse(row));
  const record = await withGroups(table, accountId, groups, early);
  return { items: await viewsOf(table, accountId, groups, record), total };
}

type GroupChange = { [Name in keyof NewGroup]?: NewGroup[Name] | undefined } & {
  parent_id?: string | null | undefined;
};

/**
 * Changes a group's texts, or moves it into another group or out of one. A move into another group gives the members
 * all grants of that group, so the caller must hold these grants: otherwise it throws 403 `would_escalate`. Also throws
 * 409 `group_cycle`.
 */
export async function updateGroup(
  accountId: string,
  id: string,
  given: GroupChange,
  context: Context,
): Promise<GroupView> {
  const { table, commit } = context;
  return commit(async () => {
    const [old, record] = await Promise.all([readGroup(table, accountId, id), readGroups(table, accountId)]);
    const { name = old.name, description = old.description } = given;
    const attributes = attributesOf(old, given);
    const { parent_id: parent = null } = record.groups[id] ?? {};
    if (
      isSame(old, { name, attributes, description }) &&
      (given.parent_id === undefined || given.parent_id === parent)
    ) {
      const view = await groupView(table, old, record);
      return { value: view, writes: [], changes: [], current: view };
    }
    const group = { ...old, name, attributes, description, version: old.version + 1 };
    const [from, to] = [groupNameKey(accountId, old.name), groupNameKey(accountId, name)];
    const row: Write = { put: { ...groupKey(accountId, id), ...group }, if: { id, version: old.version } };
    const renaming: Write[] = from.SK === to.SK ? [] : [claimName(accountId, name, id), { delete: from }];
    const groups =
      given.parent_id === undefined ? undefined : await moved(accountId, id, given.parent_id, record, context);
    const [before, after] = await Promise.all([
      groupView(table, old, record),
      groupView(table, group, groups ? { ...record, groups } : record),
    ]);
    return {
      value: after,
      writes: [row, ...renaming, ...(groups ? [groupsWrite(accountId, record, groups)] : [])],
      changes: [change(groupKind, "updated", id, { before, after })],
    };
  });
}

/** The attributes of a group as JSON to store. The stored JSON is kept if nothing changes. */
function attributesOf({ attributes: old }: StoredGroup, { attributes }: GroupChange): string {
  const isSame = attributes === undefined || isDeepStrictEqual(attributes ?? {}, JSON.parse(old));
  return isSame ? old : JSON.stringify(attributes ?? {});
}

/**
 * The groups after the move of one. The write of these groups fails if anything that is checked here has changed since.
 */
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
  await requireToHold(context, accountId, [...given, ...ownershipIn(handedByGroup(record, id))]);
  if (above.includes(id))
    throw new Problem("group_cycle", "The other group is inside this group, so this group cannot be moved into it.");
  if (above.length + heightOf(record, id) > deepest)
    throw new Problem("limit_reached", `Groups can be nested ${deepest} levels deep at most.`);
  return { ...record.groups, [id]: parentId === null ? group : { ...group, parent_id: parentId } };
}
