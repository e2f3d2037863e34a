import * as z from "zod";

import { AccountParams } from "../accounts/account.ts";
import { noRoles, rolesKey, RolesRecord } from "../accounts/standing.ts";
import { capabilities, Capability, RoleKey, roles as productRoles } from "../auth/capabilities.ts";
import { change, defineKind } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { type PageQuery, spanOf } from "../core/page.ts";
import { line, lines, orNothing } from "../core/text.ts";
import { Timestamp } from "../core/time.ts";
import { listAssignments } from "../grants/assignments.ts";
import type { Context } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { requireToHold } from "./escalation.ts";

/*
 * Access patterns
 *   the roles that an account has made   ACCOUNT#<id> / ROLES (shared/accounts/standing.ts)
 */

/** The form of a role's key. */
export const CustomRoleKey = z
  .string()
  .min(2)
  .max(64)
  .regex(/^[a-z][a-z0-9_]*$/, { error: "Write small letters, digits and underscores, with a letter first" });

export const RoleParams = AccountParams.extend({
  role: CustomRoleKey.meta({ description: "The role's key, such as `support`.", example: "support" }),
});

const members = {
  name: line({ most: 120, description: "The role's name for people." }),
  description: orNothing(lines({ least: 0, most: 500, description: "The purpose of the role." })),
  capability_keys: z
    .array(Capability)
    .min(1)
    .max(capabilities.length)
    .refine((keys) => new Set(keys).size === keys.length, { error: "Name each capability once" })
    .meta({ description: "The capabilities of the role, each once." }),
};

export const NewRole = z
  .strictObject({
    key: CustomRoleKey.meta({
      description:
        "The name of the role in other calls: 2 to 64 small letters, digits and underscores. It never changes.",
    }),
    ...members,
  })
  .meta({
    id: "RoleCreate",
    description: "A role to create.",
    examples: [{ key: "support", name: "Support", capability_keys: ["mailbox.view", "mailbox.update"] }],
  });

export const RolePatch = z
  .strictObject({
    name: members.name.optional(),
    description: members.description,
    capability_keys: members.capability_keys.optional(),
  })
  .meta({ id: "RoleUpdate", description: "The members to change." });

export const Role = z
  .object({
    key: z.string().meta({ description: "The name of the role in other calls." }),
    name: z.string().meta({ description: "The role's name for people." }),
    description: z.string().nullable().meta({ description: "The purpose of the role." }),
    capability_keys: z.array(Capability).meta({ description: "The capabilities of the role." }),
    is_custom: z
      .boolean()
      .meta({ description: "Whether the account has made the role. All accounts have the other roles." }),
    created_at: Timestamp.nullable().meta({ description: "When the role was created. Null if all accounts have it." }),
  })
  .meta({ id: "Role", description: "A named set of capabilities that can be assigned." });
type Role = z.output<typeof Role>;

export const roleKind = defineKind({
  name: "auth.role",
  verbs: ["created", "updated", "deleted"],
  view: Role,
  seenWith: "auth.manage",
});

/**
 * The most roles that an account can make. The number is small, because all these roles are in one item: if a principal
 * holds one of the roles, each request of the principal reads the item.
 */
export const roleLimit = 50;

/** The roles that an account has made. */
export const readRoles = async (table: Reader, accountId: string): Promise<RolesRecord> =>
  (await table.get(rolesKey(accountId), RolesRecord)) ?? noRoles;

/**
 * The write that replaces the roles of an account. The write fails if the roles have changed since `record` was read.
 */
export const rolesWrite = (accountId: string, record: RolesRecord, roles: RolesRecord["roles"]): Write => ({
  put: { ...rolesKey(accountId), roles, version: record.version + 1 },
  if: record.version === 0 ? "absent" : { version: record.version },
});

type StoredRole = RolesRecord["roles"][string];

const roleView = (key: string, { capabilities: held, ...role }: StoredRole): Role => ({
  key,
  name: role.name,
  description: role.description,
  capability_keys: held,
  is_custom: true,
  created_at: role.created_at,
});

/** The roles that every account has. */
const builtIn: readonly Role[] = Object.entries(productRoles).map(([key, held]) => ({
  key,
  name: `${key.charAt(0).toUpperCase()}${key.slice(1).replaceAll("_", " ")}`,
  description: null,
  capability_keys: [...held],
  is_custom: false,
  created_at: null,
}));

/** The item that every function about roles reads. `deleteRole` reads the assignments later. */
export const aheadOfRoles = (accountId: string): Ahead => ({ keys: [rolesKey(accountId)] });

/**
 * A page of the roles that can be assigned: first those that every account has, then those of the account, oldest
 * first.
 */
export async function listRoles(
  accountId: string,
  page: PageQuery,
  { table }: Context,
): Promise<{ items: Role[]; total: number }> {
  const { roles } = await readRoles(table, accountId);
  const own = Object.entries(roles).toSorted(([a, { created_at: x }], [b, { created_at: y }]) =>
    `${x} ${a}` < `${y} ${b}` ? -1 : 1,
  );
  const all = [...builtIn, ...own.map(([key, role]) => roleView(key, role))];
  const { skip, take } = spanOf(page);
  return { items: all.slice(skip, skip + take), total: all.length };
}

/**
 * Creates a role. Throws:
 * - 403 `would_escalate` unless the caller holds all capabilities of the new role, on the whole account and without
 *   an end date;
 * - 409 `limit_reached` if the account has 50 roles of its own;
 * - 409 `role_key_taken` if a role of the account, or a role that every account has, has this key.
 */
export async function createRole(
  accountId: string,
  { key, name, description = null, capability_keys }: z.output<typeof NewRole>,
  context: Context,
): Promise<Role> {
  const { table, commit, principal, now } = context;
  await requireToHold(context, accountId, asPermissions(capability_keys));
  return commit(async () => {
    const record = await readRoles(table, accountId);
    if (RoleKey.safeParse(key).success || Object.hasOwn(record.roles, key)) {
      throw new Problem("role_key_taken", "Another role has this key.", { conflicts_with: key });
    }
    if (Object.keys(record.roles).length >= roleLimit) {
      throw new Problem("limit_reached", `An account can make ${roleLimit} roles at most. Delete a role first.`);
    }
    const role: StoredRole = {
      name,
      description,
      capabilities: inOrder(capability_keys),
      created_at: now().toISOString(),
      created_by: principal.id,
      version: 1,
    };
    const after = roleView(key, role);
    return {
      value: after,
      writes: [rolesWrite(accountId, record, { ...record.roles, [key]: role })],
      changes: [change(roleKind, "created", key, { after })],
    };
  });
}

/**
 * Changes a role. Everybody who holds the role has its new capabilities from the next request on. Throws:
 * - 403 `would_escalate` unless the caller holds every capability that the role gains, on the whole account and without
 *   an end date;
 * - 404 for a role that the account does not have;
 * - 409 `role_built_in` for a role that every account has.
 */
export async function updateRole(
  accountId: string,
  key: string,
  patch: z.output<typeof RolePatch>,
  context: Context,
): Promise<Role> {
  const { table, commit } = context;
  return commit(async () => {
    const record = await readRoles(table, accountId);
    const old = ownRole(record, key);
    const { name = old.name, description = old.description, capability_keys = old.capabilities } = patch;
    const added = capability_keys.filter((capability) => !old.capabilities.includes(capability));
    await requireToHold(context, accountId, asPermissions(added));
    const role: StoredRole = {
      ...old,
      name,
      description,
      capabilities: inOrder(capability_keys),
      version: old.version + 1,
    };
    const [before, after] = [roleView(key, old), roleView(key, role)];
    if (JSON.stringify(before) === JSON.stringify(after)) return { value: before, writes: [], changes: [] };
    return {
      value: after,
      writes: [rolesWrite(accountId, record, { ...record.roles, [key]: role })],
      changes: [change(roleKind, "updated", key, { before, after })],
    };
  });
}

/**
 * Deletes a role. The role must have no assignments in force. Throws:
 * - 404 for a role that the account does not have;
 * - 409 `role_built_in` for a role that every account has;
 * - 409 `role_in_use` for a role with assignments in force. The error has the number of these assignments.
 */
export async function deleteRole(accountId: string, key: string, { table, commit, now }: Context): Promise<void> {
  await commit(async () => {
    const record = await readRoles(table, accountId);
    const before = roleView(key, ownRole(record, key));
    // The assignments must be read after the roles, and never ahead. An assignment that is added after this read
    // changes the version of the roles, and then this transaction fails.
    const assignments = await listAssignments(table, accountId, false, now());
    const count = assignments.filter(({ custom_role }) => custom_role === key).length;
    if (count > 0) {
      throw new Problem("role_in_use", "Revoke the assignments of this role first.", { assignments: count });
    }
    const { [key]: _, ...roles } = record.roles;
    return {
      value: undefined,
      writes: [rolesWrite(accountId, record, roles)],
      changes: [change(roleKind, "deleted", key, { before })],
    };
  });
}

/**
 * A role that the account has made. Throws 404 for an unknown role, and 409 `role_built_in` for a role that every
 * account has.
 */
function ownRole({ roles }: RolesRecord, key: string): StoredRole {
  const role = Object.hasOwn(roles, key) ? roles[key] : undefined;
  if (role) return role;
  if (!RoleKey.safeParse(key).success) throw notFound();
  throw new Problem(
    "role_built_in",
    "Every account has this role, and it cannot be changed. Create a role of your own.",
  );
}

const asPermissions = (keys: readonly Capability[]): { capability: Capability }[] =>
  keys.map((capability) => ({ capability }));

const inOrder = (keys: readonly Capability[]): Capability[] => capabilities.filter((one) => keys.includes(one));
