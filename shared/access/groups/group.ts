import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import {
  effectiveGrants,
  type GroupsRecord,
  groupsKey,
  heightOf,
  idpNameOf,
  isOwner,
  noRoles,
  rolesOf,
  type RolesRecord,
  withAncestors,
} from "../../accounts/standing.ts";
import { Capability, capabilities } from "../../auth/capabilities.ts";
import { ResourceType, capabilitiesOf } from "../../auth/permissions.ts";
import { change, defineKind } from "../../changes/kind.ts";
import { Problem, notFound } from "../../core/errors.ts";
import { Attributes, isSame } from "../../core/fields.ts";
import { Id, idWithOrdinal, ordinalOf } from "../../core/ids.ts";
import { type PageQuery, spanOf } from "../../core/page.ts";
import { line, lines, orNothing } from "../../core/text.ts";
import { groupsWrite, readGroups } from "../../grants/holders.ts";
import { missingReference } from "../../grants/references.ts";
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
import { claimName, planNameChange, reservedNameKeys } from "../../table/reserved-name.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { permissionsOfGroup, ownershipIn, requireToHold } from "../escalation.ts";

export const GroupParams = AccountParams.extend({ group_id: Id.meta({ description: "The group's id." }) });

export const GroupName = line({
  most: 255,
  description: "The group's name, without a slash. It is unique in the account, ignoring case.",
}).regex(/^[^/]*$/, { error: "A slash is not allowed: it separates the names in a path" });

export const GroupDescription = orNothing(lines({ least: 0, most: 2_000, description: "A description for people." }));

export const GroupAttributes = Attributes.nullish().meta({
  description: "Your own data to store with the group, up to 8 KiB of JSON and 20 levels deep.",
});

const PermissionContext = z
  .object({
    assigned_bundle_keys: z.array(z.string()).meta({ description: "The roles assigned to the group itself." }),
    direct_capability_keys: z.array(Capability).meta({ description: "The capabilities granted to the group itself." }),
    owner_assignments: z
      .array(z.object({ account_id: Id.meta({ description: "The account." }) }))
      .meta({ description: "The accounts that the group owns." }),
    resolved_capability_keys: z.array(Capability).meta({
      description:
        "All capabilities that the members hold through the group, on any scope: those of the group itself and of the groups above it.",
    }),
    status: z.string().meta({ description: "`active`." }),
    subject_id: Id.meta({ description: "The group's id." }),
    subject_type: z.string().meta({ description: "`group`." }),
  })
  .meta({ id: "PermissionContext", description: "The permissions that the group gives its members." });

export const AuthGroup = z
  .object({
    id: Id.meta({ description: "The group's id." }),
    account_id: Id.meta({ description: "The account that the group belongs to." }),
    name: z.string().meta({ description: "The group's name. It is unique in its account, ignoring case." }),
    idp_name: z.string().meta({
      description: "The group's name in the `groups` claim of a token. No other group ever gets this name.",
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
      .meta({ description: "The resources to which the group's own grants are limited." }),
    parent_id: Id.nullable()
      .optional()
      .meta({ description: "The parent group. The members of this group also get the grants of the parent group." }),
    path: z.string().nullable().optional().meta({ description: "The names from the outermost group to this group." }),
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
 * The data that a view of a group needs besides the group's row: the grants of all groups, the account's own roles, and
 * the time.
 */
type GroupContext = { record: GroupsRecord; roles: RolesRecord; now: Date };

/**
 * Makes the view of a group. `nameOf` returns the names of the group and of the groups above it. Grants that have ended
 * are left out.
 */
export function storedGroupView(
  group: StoredGroup,
  { record, roles, now }: GroupContext,
  nameOf: (id: string) => string,
): z.output<typeof AuthGroup> {
  const { id, account_id } = group;
  const lineage = withAncestors(record, [id]);
  const at = now.toISOString();
  const own = record.groups[id] ?? { grants: [] };
  const grants = effectiveGrants(own.grants, roles, at);
  const scopes = new Map(grants.flatMap(({ scope }) => (scope ? [[`${scope.type} ${scope.id}`, scope]] : [])));
  return {
    ...group,
    attributes: JSON.parse(group.attributes) as Record<string, unknown>,
    idp_account_id: account_id,
    linked_scopes: [...scopes.values()].map((scope) => ({ resource_id: scope.id, resource_type: scope.type })),
    parent_id: own.parent_id ?? null,
    path: `/${lineage.toReversed().map(nameOf).join("/")}`,
    // A stored map has no order. Ids of groups sort by age, so the oldest subgroup comes first.
    subgroup_ids: Object.keys(record.groups)
      .filter((child) => record.groups[child]?.parent_id === id)
      .toSorted(),
    permission_context: {
      assigned_bundle_keys: [...new Set(grants.flatMap(({ role, custom_role }) => role ?? custom_role ?? []))],
      direct_capability_keys: [...new Set(grants.flatMap(({ capability }) => capability ?? []))],
      owner_assignments: isOwner(own, at) ? [{ account_id }] : [],
      resolved_capability_keys: resolvedCapabilities({ record, roles, now }, lineage),
      status: "active",
      subject_id: id,
      subject_type: "group",
    },
  };
}

/** The capabilities that the groups in `lineage` give together, on any scope. */
function resolvedCapabilities(
  { record, roles, now }: GroupContext,
  lineage: readonly string[],
): z.output<typeof Capability>[] {
  const at = now.toISOString();
  const holders = lineage.flatMap((id) => record.groups[id] ?? []);
  if (holders.some((holder) => isOwner(holder, at))) return [...capabilities];
  const held = new Set(holders.flatMap(({ grants }) => effectiveGrants(grants, roles, at).flatMap(capabilitiesOf)));
  return capabilities.filter((capability) => held.has(capability));
}

/*
 * Access patterns
 *   groups of an account, and one by the ordinal in its id   ACCOUNT#<id> / LIST#groups
 *   whether a name is taken                                  ACCOUNT#<id> / GROUP_NAME#<SHA-256 of the folded name>
 *   the grants and parents of all groups                     ACCOUNT#<id> / GROUPS (shared/accounts/standing.ts)
 */
/** The list of an account's groups. */
export const groupsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "groups" });
/** The key of the group with this id. An id without an ordinal gets a key that no group has. */
export const groupKey = (accountId: string, id: string): Key => rowKey(groupsOf(accountId), ordinalOf(id) ?? 2 ** 40);
/** The keys of the items that reserve a name for one group. */
export const groupNameKeys = (accountId: string, name: string): [Key, ...Key[]] =>
  reservedNameKeys(accountId, "GROUP", name);

/** The most groups of an account. An account that made more with an earlier version keeps them. */
export const groupLimit = 2_000;

/** The most levels of nested groups. */
export const maxDepth = 16;

type GroupView = z.output<typeof AuthGroup>;
type NewGroup = {
  name: string;
  attributes?: Record<string, unknown> | null | undefined;
  description?: string | null | undefined;
};

const nameTaken = (holder: Record<string, string>) =>
  new Problem("group_name_taken", "Another group of this account has this name.", {
    conflicts_with: holder["id"] ?? "",
  });

/** The items that `createGroup` reads. */
export const aheadOfNewGroup = (accountId: string): Ahead =>
  aheadOfList(groupsOf(accountId), [], [groupsKey(accountId)]);

/**
 * Creates a group without grants, members or a parent. Throws:
 * - 409 `group_name_taken` if another group of the account has the name;
 * - 409 `limit_reached` if the account has too many groups, or if all groups would not fit into one item.
 */
export async function createGroup(
  accountId: string,
  input: NewGroup,
  { table, commit, now }: Context,
): Promise<GroupView> {
  return commit(async () => {
    const [{ state }, record] = await Promise.all([readList(table, groupsOf(accountId)), readGroups(table, accountId)]);
    if (state.live >= groupLimit) {
      throw new Problem("limit_reached", `An account can have ${groupLimit} groups at most. Delete a group first.`);
    }
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
      ...claimName(groupNameKeys(accountId, group.name), id, nameTaken),
      groupsWrite(accountId, record, groups),
    ];
    const view = storedGroupView(
      group,
      { record: { ...record, groups }, roles: noRoles, now: now() },
      () => group.name,
    );
    return { value: view, writes, changes: [change(groupKind, "created", id, { after: view })] };
  });
}

/** The items that `getGroup` and `updateGroup` read first. */
export const aheadOfGroup = (accountId: string, id: string): Ahead => ({
  keys: [groupKey(accountId, id), groupsKey(accountId)],
});

/** The items of the list of groups that `deleteGroup` reads. */
export const aheadOfGroupRow = (accountId: string, id: string): Ahead => {
  const row = groupKey(accountId, id);
  return aheadOfList(groupsOf(accountId), [ordinalOf(id) ?? 0], [row, row]);
};

/** The group as it is stored. Throws 404 if the account does not have the group. */
export async function readGroup(table: Reader, accountId: string, id: string): Promise<StoredGroup> {
  const group = await table.get(groupKey(accountId, id), StoredGroup);
  if (group?.id !== id) throw notFound();
  return group;
}

/** The names of the groups with these ids that exist, by their ids. */
export async function groupNames(
  table: Reader,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const items = await table.getMany(ids.map((id) => groupKey(accountId, id)));
  return new Map(
    items.flatMap((item) => {
      const group = StoredGroup.safeParse(item).data;
      return group ? [[group.id, group.name] as const] : [];
    }),
  );
}

/**
 * The views of `groups`. One round trip reads the names of all groups above `groups`, and the roles that the account
 * has made, if a grant names one of them.
 */
async function viewsOf(
  table: Reader,
  accountId: string,
  groups: readonly StoredGroup[],
  record: GroupsRecord,
  now: Date,
): Promise<GroupView[]> {
  const own = new Set(groups.map(({ id }) => id));
  const lineages = groups.flatMap(({ id }) => withAncestors(record, [id]));
  const grants = lineages.flatMap((id) => record.groups[id]?.grants ?? []);
  const [above, roles] = await Promise.all([
    groupNames(
      table,
      accountId,
      lineages.filter((id) => !own.has(id)),
    ),
    rolesOf(table, accountId, grants),
  ]);
  const names = new Map([...above, ...groups.map(({ id, name }) => [id, name] as const)]);
  return groups.map((group) => storedGroupView(group, { record, roles, now }, (id) => names.get(id) ?? ""));
}

/** The view of one group. `record` has the grants of all groups. */
export async function groupView(
  table: Reader,
  group: StoredGroup,
  record: GroupsRecord,
  now: Date,
): Promise<GroupView> {
  const [view] = await viewsOf(table, group.account_id, [group], record, now);
  if (!view) throw notFound();
  return view;
}

/** Returns `record`, or reads it again if one of the groups was created after `record` was read. */
async function recordWith(
  table: Reader,
  accountId: string,
  groups: readonly StoredGroup[],
  record: GroupsRecord,
): Promise<GroupsRecord> {
  return groups.every(({ id }) => Object.hasOwn(record.groups, id)) ? record : readGroups(table, accountId);
}

/** The view of a group. Throws 404 if the account does not have the group. */
export async function getGroup(accountId: string, id: string, { table, now }: Context): Promise<GroupView> {
  const [group, record] = await Promise.all([readGroup(table, accountId, id), readGroups(table, accountId)]);
  return groupView(table, group, await recordWith(table, accountId, [group], record), now());
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
  { table, now }: Context,
): Promise<{ items: GroupView[]; total: number }> {
  const [{ rows, total }, firstRecord] = await Promise.all([
    readRows(table, groupsOf(accountId), spanOf(page)),
    readGroups(table, accountId),
  ]);
  const groups = rows.map((row) => StoredGroup.parse(row));
  const record = await recordWith(table, accountId, groups, firstRecord);
  return { items: await viewsOf(table, accountId, groups, record, now()), total };
}

type GroupChange = { [Name in keyof NewGroup]?: NewGroup[Name] | undefined } & {
  parent_id?: string | null | undefined;
};

/**
 * Changes the name, description and attributes of a group, and moves the group into another group or to the top. A move
 * gives the members all permissions of the new parent, and takes the permissions of the old parent away. Throws:
 * - 403 `would_escalate` if the group is moved into a parent, and the caller does not hold all permissions that this
 *   parent gives;
 * - 403 `would_escalate` if the group is moved and owns the account, directly or through a group above it, and the
 *   caller is neither an owner nor a super admin;
 * - 404 if the account does not have the group;
 * - 422 if the account does not have the new parent;
 * - 409 `group_name_taken` if another group of the account has the new name;
 * - 409 `group_cycle` if the new parent is the group itself or is inside the group;
 * - 409 `limit_reached` if the groups would be nested too deep, or would not fit into one item.
 */
export async function updateGroup(
  accountId: string,
  id: string,
  patch: GroupChange,
  context: Context,
): Promise<GroupView> {
  const { table, commit, now } = context;
  return commit(async () => {
    const [old, record] = await Promise.all([readGroup(table, accountId, id), readGroups(table, accountId)]);
    const { name = old.name, description = old.description } = patch;
    const attributes = attributesOf(old, patch);
    const { parent_id: parent = null } = record.groups[id] ?? {};
    const isMoved = patch.parent_id !== undefined && patch.parent_id !== parent;
    if (isSame(old, { name, attributes, description }) && !isMoved) {
      const view = await groupView(table, old, record, now());
      return { value: view, writes: [], changes: [], current: view };
    }
    const group = { ...old, name, attributes, description, version: old.version + 1 };
    const names = { from: groupNameKeys(accountId, old.name), to: groupNameKeys(accountId, name) };
    const row: Write = { put: { ...groupKey(accountId, id), ...group }, if: { id, version: old.version } };
    const renaming = await planNameChange(table, names, id, nameTaken);
    const groups = isMoved ? await moveGroup(accountId, id, patch.parent_id ?? null, record, context) : undefined;
    const [before, after] = await Promise.all([
      groupView(table, old, record, now()),
      groupView(table, group, groups ? { ...record, groups } : record, now()),
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
  const isUnchanged = attributes === undefined || isDeepStrictEqual(attributes ?? {}, JSON.parse(old));
  return isUnchanged ? old : JSON.stringify(attributes ?? {});
}

/**
 * The groups of `record` after the move of one group. Throws the errors of `updateGroup` about the move.
 */
async function moveGroup(
  accountId: string,
  id: string,
  parentId: string | null,
  record: GroupsRecord,
  context: Context,
): Promise<GroupsRecord["groups"]> {
  const now = context.now();
  const { parent_id: _, ...group } = record.groups[id] ?? { grants: [] };
  const above = parentId === null ? [] : withAncestors(record, [parentId]);
  if (parentId !== null && above.length === 0) throw missingReference("parent_id", "group");
  const inherited = parentId === null ? [] : permissionsOfGroup(record, parentId, now);
  const taken = ownershipIn(permissionsOfGroup(record, id, now), now);
  await requireToHold(context, accountId, [...inherited, ...taken]);
  if (above.includes(id))
    throw new Problem("group_cycle", "A group cannot be moved into itself or into a group inside it.");
  if (above.length + heightOf(record, id) > maxDepth)
    throw new Problem("limit_reached", `Groups can be nested ${maxDepth} levels deep at most.`);
  return { ...record.groups, [id]: parentId === null ? group : { ...group, parent_id: parentId } };
}
