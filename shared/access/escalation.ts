import {
  accessKey,
  AccessRecord,
  groupsKey,
  GroupsRecord,
  isSuperAdmin,
  noGroups,
  withAncestors,
} from "../accounts/standing.ts";
import { capabilitiesOf, covers, type HeldGrant, type Permissions } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { notFound, Problem } from "../core/errors.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { locate } from "./scopes.ts";

/** A permission that a caller wants to give: a capability or role on a scope, ownership, or super admin. */
export type Handed = Pick<HeldGrant, "capability" | "role" | "scope"> | "account_owner" | "super_admin";

type Giver = { permissions: Permissions; principal: Principal; table: Reader };

/**
 * Throws 403 `would_escalate`, naming what is missing, unless the giver holds all of `handed` on scopes at least as
 * wide. Only owners and super admins give ownership. Only super admins give super admin.
 */
export async function requireToHold(giver: Giver, accountId: string, handed: readonly Handed[]): Promise<void> {
  const missing = new Set<string>();
  for (const one of handed) for (const name of await missingOf(giver, accountId, one)) missing.add(name);
  if (missing.size === 0 || giver.permissions.superAdmin) return;
  if (await isSuperAdmin(giver.table, giver.principal)) return;
  const names = [...missing].toSorted();
  throw new Problem(
    "would_escalate",
    `You do not hold ${names.join(", ")} on this scope or on a wider one, so you cannot give it to others.`,
    {
      missing: names,
    },
  );
}

async function missingOf({ permissions, table }: Giver, accountId: string, handed: Handed): Promise<string[]> {
  if (handed === "super_admin") return permissions.superAdmin ? [] : [handed];
  if (permissions.everything) return [];
  if (handed === "account_owner") return [handed];
  const located = handed.scope ? await locate(table, accountId, handed.scope) : { scopes: [] };
  // A grant on a resource that no longer exists gives nothing.
  if (!located) return [];
  return capabilitiesOf(handed).filter((capability) => !covers(permissions, capability, located.scopes));
}

/** The permissions that a member of a group gets: those of the group itself and of all groups above it. */
export function handedByGroup(groups: GroupsRecord, groupId: string): Handed[] {
  return withAncestors(groups, [groupId]).flatMap((id): Handed[] => {
    const holder = groups.groups[id];
    return holder ? [...holder.grants, ...(holder.owner_grant_id === undefined ? [] : ["account_owner" as const])] : [];
  });
}

/** The ownership in `handed`, if it is there. Only owners and super admins can give or revoke it. */
export const ownershipIn = (handed: readonly Handed[]): Handed[] => handed.filter((one) => one === "account_owner");

/** All permissions of a service account, and the writes that make a transaction fail if they have changed since. */
export async function handedByServiceAccount(
  table: Reader,
  accountId: string,
  id: string,
): Promise<{ handed: Handed[]; unchanged: Write[] }> {
  const key = accessKey(accountId, { type: "service_account", id });
  const record = await table.get(key, AccessRecord);
  if (!record) throw notFound();
  const isMember = record.groups.length > 0;
  const groups = (isMember ? await table.get(groupsKey(accountId), GroupsRecord) : undefined) ?? noGroups;
  const handed = [
    ...record.grants,
    ...(record.owner_grant_id === undefined ? [] : ["account_owner" as const]),
    ...record.groups.flatMap((group) => handedByGroup(groups, group)),
  ];
  const inGroups: Write[] = [{ check: groupsKey(accountId), if: { version: groups.version } }];
  return {
    handed,
    unchanged: [{ check: key, if: { version: record.version } }, ...(isMember ? inGroups : [])],
  };
}
