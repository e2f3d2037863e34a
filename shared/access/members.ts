import * as z from "zod";

import {
  AccessRecord,
  accessKey,
  claimedGroups,
  type GrantHolder,
  groupsKey,
  GroupsRecord,
  isSuperAdmin,
  noGroups,
  userKey,
  withAncestors,
} from "../accounts/standing.ts";
import { Capability } from "../auth/capabilities.ts";
import { capabilitiesHeld, isLive, type Permissions, ResourceType } from "../auth/permissions.ts";
import { Id } from "../core/ids.ts";
import { type PageQuery, requireAnswerable, spanOf } from "../core/page.ts";
import { permissionMembers } from "../grants/assignment.ts";
import { scopeTypes } from "../grants/assignments.ts";
import type { Subject } from "../grants/holders.ts";
import type { Context, Expected } from "../http/route.ts";
import { mailboxesByIds } from "../mail/mailboxes/lookup.ts";
import { rangeOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { groupKey, groupNames, groupsOf } from "./groups/group.ts";
import { serviceAccountKey, serviceAccountRange } from "./service-account.ts";

/*
 * Access patterns
 *   all users and service accounts with an access record   ACCOUNT#<id> / ACCESS#
 *   the names of groups and service accounts               LIST#groups, SERVICE_ACCOUNT#
 */
const MemberType = z.enum(["user", "service_account"]);

const HeldAccess = z
  .object({
    id: Id.meta({ description: "The id of the grant or of the role assignment." }),
    ...permissionMembers,
    group_id: Id.nullable().meta({
      description: "The group that holds the permission. Null if the member holds it directly.",
    }),
    group_name: z.string().nullable().meta({ description: "The name of the group." }),
  })
  .meta({ id: "HeldAccess", description: "A grant or an assigned role that a member holds." });
type HeldAccess = z.output<typeof HeldAccess>;

export const AccountMember = z
  .object({
    subject_id: Id.meta({ description: "The id of the user or service account." }),
    subject_type: MemberType.meta({ description: "The type of the member." }),
    email: z.string().nullable().meta({
      description: "The user's e-mail address. Null for a service account, and for a user whose address is not known.",
    }),
    name: z.string().nullable().meta({
      description: "The user's full name if it is known, or the service account's name.",
    }),
    is_owner: z.boolean().meta({ description: "Whether the member owns the account, directly or through a group." }),
    access: z.array(HeldAccess).meta({
      description:
        "The member's permissions: first those that the member holds directly, then those of each group. Owners have every permission.",
    }),
  })
  .meta({ id: "AccountMember", description: "A user or service account with access to the account." });
type AccountMember = z.output<typeof AccountMember>;

export const MyPermissions = z
  .object({
    account_id: Id.meta({ description: "The account." }),
    is_owner: z.boolean().meta({ description: "Whether you own the account, directly or through a group." }),
    is_super_admin: z.boolean().meta({ description: "Whether you may do everything in every account." }),
    capability_keys: z.array(Capability).meta({ description: "The capabilities that you hold on the whole account." }),
    scopes: z
      .array(
        z.object({
          resource_type: ResourceType.meta({ description: "The type of the resource." }),
          resource_id: z.string().meta({ description: "The id of the resource." }),
          capability_keys: z.array(Capability).meta({
            description:
              "The capabilities that you hold on this resource and that allow something there, and your capabilities on the whole account. A role on a workspace can have capabilities that work only on the whole account. Such a capability is left out, unless you hold it on the whole account. Capabilities that you hold on a domain's workspace are listed only in the entry of that workspace.",
          }),
        }),
      )
      .meta({ description: "The resources to which some of your access is limited." }),
    access: z.array(HeldAccess).meta({ description: "The grants and roles from which you have your permissions." }),
  })
  .meta({ id: "MyPermissions", description: "The permissions of the owner of the token in an account." });

/** The fields that lists add to the id of a subject: the e-mail address and the name of the subject. */
export const subjectMembers = {
  subject_email: z.string().nullable().meta({
    description: "The e-mail address of a user. Null if it is not known, and for other subjects.",
  }),
  subject_name: z.string().nullable().meta({
    description: "The user's full name if it is known, or the name of the group or service account.",
  }),
};

type NameOf = (subject: { type: string; id: string }) => { email: string | null; name: string | null };

/** Adds to each item the e-mail address and the name of its subject. */
export const withSubjects = <T extends { subject_id: string; subject_type: string }>(
  items: readonly T[],
  nameOf: NameOf,
): (T & { subject_email: string | null; subject_name: string | null })[] =>
  items.map((item) => {
    const { email, name } = nameOf({ type: item.subject_type, id: item.subject_id });
    return { ...item, subject_email: email, subject_name: name };
  });

/** The access records of an account, and the names of its users, service accounts and groups. */
type Directory = {
  /** `end` is when a service account expires or was revoked. Null for users, and if a service account has no end. */
  records: readonly {
    subject: Subject & { type: "user" | "service_account" };
    record: AccessRecord;
    end: string | null;
  }[];
  /** The name and the e-mail address of a subject. Each is null if it is not known. */
  of: NameOf;
};

const recordsRange = (accountId: string) => {
  const { PK: partition } = accessKey(accountId, { type: "", id: "" });
  return { partition, from: "ACCESS#", to: "ACCESS#~" };
};
const groupRange = (accountId: string) => rangeOfRows(groupsOf(accountId));

/** The items that `readDirectory` reads. */
const aheadOfDirectory = (accountId: string): Required<Pick<Ahead, "ranges">> => ({
  ranges: [recordsRange(accountId), groupRange(accountId), serviceAccountRange(accountId)],
});

/** The items that a list reads, including the items with the names of its subjects. */
export const aheadWithNames = (accountId: string, { ranges = [], ...rest }: Ahead): Ahead => ({
  ...rest,
  ranges: [...ranges, ...aheadOfDirectory(accountId).ranges],
});

const Ending = z.object({ id: z.string(), expires_at: z.string().nullable(), revoked_at: z.string().nullable() });

const endsById = (serviceAccounts: readonly Item[]): Map<string, string | null> =>
  new Map(
    serviceAccounts.map((item) => {
      const { id, expires_at, revoked_at } = Ending.parse(item);
      return [id, revoked_at ?? expires_at];
    }),
  );

const Named = z.object({ id: z.string(), name: z.string() });

const namesById = (items: readonly Item[]): [string, string][] =>
  items.map((item) => {
    const { id, name } = Named.parse(item);
    return [id, name];
  });

const fullName = ({ first_name, last_name }: AccessRecord): string | null =>
  [first_name, last_name].filter((part) => part !== undefined).join(" ") || null;

const memberSubject = ({ SK }: Item): Directory["records"][number]["subject"] => {
  const [, type, id = ""] = SK.split("#");
  return { type: MemberType.parse(type), id };
};

/** Reads all access records of an account, and the names of users, groups and service accounts. */
export async function readDirectory(table: Reader, accountId: string): Promise<Directory> {
  const [holders, groups, serviceAccounts] = await Promise.all(
    aheadOfDirectory(accountId).ranges.map(({ partition, from, to }) => table.between(partition, from, to)),
  );
  const ends = endsById(serviceAccounts ?? []);
  const records = (holders ?? []).map((item) => {
    const subject = memberSubject(item);
    return { subject, record: AccessRecord.parse(item), end: ends.get(subject.id) ?? null };
  });
  const names = new Map([...namesById(groups ?? []), ...namesById(serviceAccounts ?? [])]);
  const users = new Map(
    records.flatMap(({ subject: { type, id }, record }) => (type === "user" ? [[id, record]] : [])),
  );
  return {
    records,
    of: ({ type, id }) => {
      if (type !== "user") return { email: null, name: names.get(id) ?? null };
      const record = users.get(id);
      return { email: record?.email ?? null, name: record ? fullName(record) : null };
    },
  };
}

/** Reads the names of the users and service accounts on one page of a list. */
export async function readNames(
  table: Reader,
  accountId: string,
  subjects: readonly { subject_id: string; subject_type: string }[],
): Promise<NameOf> {
  const ids = (type: string) => subjects.flatMap((one) => (one.subject_type === type ? [one.subject_id] : []));
  const [userIds, serviceAccountIds] = [ids("user"), ids("service_account")];
  const items = await table.getMany([
    ...userIds.map((id) => accessKey(accountId, { type: "user", id })),
    ...serviceAccountIds.map((id) => serviceAccountKey(accountId, id)),
  ]);
  const users = new Map(
    userIds.flatMap((id, index) => (items[index] ? [[id, AccessRecord.parse(items[index])] as const] : [])),
  );
  const serviceAccounts = new Map(namesById(items.slice(userIds.length).filter((item) => item !== undefined)));
  return ({ type, id }) => {
    const record = type === "user" ? users.get(id) : undefined;
    return { email: record?.email ?? null, name: record ? fullName(record) : (serviceAccounts.get(id) ?? null) };
  };
}

/** The permissions that a holder has at the time `at`. */
function accessIn(
  { owner_grant_id, owner_expires_at, grants }: GrantHolder,
  group: { id: string; name: string | null } | undefined,
  at: string,
): HeldAccess[] {
  const common = { group_id: group?.id ?? null, group_name: group?.name ?? null };
  const isOwning = owner_grant_id !== undefined && isLive(owner_expires_at, at);
  const ownershipEnd = owner_expires_at ?? null;
  const owned: HeldAccess[] = isOwning
    ? [{ ...nullForOwnership, id: owner_grant_id, kind: "account_owner", expires_at: ownershipEnd, ...common }]
    : [];
  const live = grants.filter(({ expires_at }) => isLive(expires_at, at));
  const granted = live.map(({ id, capability, role, custom_role, scope, expires_at }): HeldAccess => ({
    id,
    kind: capability === undefined ? "role" : "capability",
    capability_key: capability ?? null,
    role_key: role ?? custom_role ?? null,
    resource_type: scope?.type ?? null,
    resource_id: scope?.id ?? null,
    expires_at: expires_at ?? null,
    ...common,
  }));
  return [...owned, ...granted];
}

/**
 * The members of ownership that are null, because ownership is neither a capability nor a role, and covers the account.
 */
const nullForOwnership = { capability_key: null, role_key: null, resource_type: null, resource_id: null };

/**
 * The permissions that a subject has at the time `now`: the subject's own permissions, those of the groups `groupIds`,
 * and those of all groups above these groups.
 */
function accessOf(
  record: AccessRecord | undefined,
  groups: GroupsRecord,
  groupIds: readonly string[],
  { nameOf, now }: { nameOf: (groupId: string) => string | null; now: Date },
): HeldAccess[] {
  const at = now.toISOString();
  const inGroups = withAncestors(groups, groupIds).flatMap((id) => {
    const holder = groups.groups[id];
    return holder ? accessIn(holder, { id, name: nameOf(id) }, at) : [];
  });
  return [...(record ? accessIn(record, undefined, at) : []), ...inGroups];
}

const isOwned = (access: readonly HeldAccess[]): boolean => access.some(({ kind }) => kind === "account_owner");

/** The items that `accountMembers` reads. */
export const aheadOfAccountMembers = (accountId: string): Ahead => ({
  ...aheadOfDirectory(accountId),
  keys: [groupsKey(accountId)],
});

/**
 * A page of the members of an account: first the users, sorted by id, and then the service accounts, sorted by id.
 * Leaves out users and service accounts that have no permission and are in no group, and service accounts that have
 * expired or were revoked. The groups in the `groups` claim of a token do not count. Throws 422 `too_many` if the page
 * is too large for an answer.
 */
export async function accountMembers(
  accountId: string,
  page: PageQuery,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<{ items: AccountMember[]; total: number }> {
  const [directory, stored] = await Promise.all([
    readDirectory(table, accountId),
    table.get(groupsKey(accountId), GroupsRecord),
  ]);
  const groups = stored ?? noGroups;
  const nameOf = (id: string) => directory.of({ type: "group", id }).name;
  const members = directory.records.flatMap(({ subject, record, end }): AccountMember[] => {
    if (!isLive(end ?? undefined, now().toISOString())) return [];
    const access = accessOf(record, groups, record.groups, { nameOf, now: now() });
    if (access.length === 0 && withAncestors(groups, record.groups).length === 0) return [];
    const { type: subject_type, id: subject_id } = subject;
    return [{ subject_id, subject_type, ...directory.of(subject), is_owner: isOwned(access), access }];
  });
  const [users, serviceAccounts] = [members.filter(isUser), members.filter((member) => !isUser(member))];
  const { skip, take } = spanOf(page);
  const items = requireAnswerable([...users, ...serviceAccounts].slice(skip, skip + take), {
    noun: "members with their permissions",
    member: "page_size",
    remedy: "Choose a smaller `page_size`",
  });
  return { items, total: members.length };
}

const isUser = ({ subject_type }: AccountMember): boolean => subject_type === "user";

/** Items that authorization and `myPermissions` read. */
export function aheadOfMyPermissions(accountId: string, { principal, seen }: Expected): Ahead {
  const record = accessKey(accountId, principal);
  const { groups = [] } = AccessRecord.safeParse(seen.recall(record)).data ?? {};
  const named = [...groups, ...claimedGroups(principal, accountId)].map((id) => groupKey(accountId, id));
  const user = principal.type === "user" ? [userKey(principal.id)] : [];
  return { keys: [record, record, groupsKey(accountId), ...user, ...named] };
}

/**
 * The caller's permissions in an account, with the grants, roles and groups that give them. The caller must have access
 * to the account.
 */
export async function myPermissions(
  accountId: string,
  { table, principal, permissions: own, now }: Pick<Context, "table" | "principal" | "permissions" | "now">,
): Promise<z.output<typeof MyPermissions>> {
  const [record, stored, isSuper] = await Promise.all([
    table.get(accessKey(accountId, principal), AccessRecord),
    table.get(groupsKey(accountId), GroupsRecord),
    isSuperAdmin(table, principal, now()),
  ]);
  const groupIds = [...(record?.groups ?? []), ...claimedGroups(principal, accountId)];
  const groups = stored ?? noGroups;
  const names = await groupNames(table, accountId, withAncestors(groups, groupIds));
  const access = accessOf(record, groups, groupIds, { nameOf: (id) => names.get(id) ?? null, now: now() });
  const permissions: Permissions = isSuper ? { ...own, everything: true } : own;
  const { onAccount, onScopes } = await withoutDeleted(table, accountId, withEffect(capabilitiesHeld(permissions)));
  return {
    account_id: accountId,
    is_owner: isOwned(access),
    is_super_admin: isSuper,
    capability_keys: onAccount,
    scopes: onScopes.map(({ scope, held }) => ({
      resource_type: scope.type,
      resource_id: scope.id,
      capability_keys: held,
    })),
    access,
  };
}

type Held = ReturnType<typeof capabilitiesHeld>;

/** The capabilities without those that have no effect on the resource on which they are held. */
const withEffect = ({ onAccount, onScopes }: Held): Held => ({
  onAccount,
  onScopes: onScopes.map(({ scope, held }) => ({
    scope,
    held: held.filter((one) => onAccount.includes(one) || scopeTypes[one]?.includes(scope.type)),
  })),
});

/**
 * The capabilities that have an effect now. On a deleted mailbox, only `mailbox.delete` has an effect, because its
 * holder can restore the mailbox. So the entry of a deleted mailbox has only `mailbox.delete` and the capabilities on
 * the whole account. If `mailbox.delete` is not held on the mailbox, the mailbox has no entry.
 */
async function withoutDeleted(table: Reader, accountId: string, { onAccount, onScopes }: Held): Promise<Held> {
  const ids = onScopes.flatMap(({ scope }) => (scope.type === "mailbox" ? [scope.id] : []));
  const live = new Set((await mailboxesByIds(table, accountId, ids.toSorted())).map(({ id }) => id));
  const left = onScopes.flatMap(({ scope, held }) => {
    if (scope.type !== "mailbox" || live.has(scope.id)) return [{ scope, held }];
    const rest = held.filter((one) => one === "mailbox.delete" || onAccount.includes(one));
    return rest.includes("mailbox.delete") ? [{ scope, held: rest }] : [];
  });
  return { onAccount, onScopes: left };
}
