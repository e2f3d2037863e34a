import * as z from "zod";

import { capabilities, Capability, RoleKey, roles } from "./capabilities.ts";

/**
 * The types of resources that the `scope` of a grant can name. The product refuses a grant on a type that `locate`
 * (shared/access/scopes.ts) does not know, such as `tenant`.
 */
export const ResourceType = z.enum([
  "client",
  "account",
  "workspace",
  "domain",
  "dns_record",
  "mailbox",
  "redirect",
  "forwarding",
  "credential",
  "tenant",
  "route",
  "proxy",
]);
export type ResourceType = z.output<typeof ResourceType>;

/**
 * One resource inside an account. The scopes of a resource are the resource itself and everything that contains it,
 * except the account.
 */
export const Scope = z.object({ type: ResourceType, id: z.string() });
export type Scope = z.output<typeof Scope>;

/**
 * One grant as it is stored with its holder. The grant gives a capability, a role of the product (`role`) or a role of
 * the account (`custom_role`), on a scope or on the whole account. From `expires_at` on, the grant gives nothing.
 */
export const HeldGrant = z.object({
  id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  custom_role: z.string().optional(),
  scope: Scope.optional(),
  expires_at: z.string().optional(),
});
export type HeldGrant = z.output<typeof HeldGrant>;

/**
 * One grant as authorization reads it. For a grant with a `custom_role`, `capabilities` are the capabilities of that
 * role at the time of the request.
 */
export const EffectiveGrant = HeldGrant.extend({ capabilities: z.array(Capability).optional() });
export type EffectiveGrant = z.output<typeof EffectiveGrant>;

/**
 * Whether something that ends at `end` (RFC 3339, UTC) lasts at the time `at`. Something without an end always lasts.
 */
export const isLive = (end: string | undefined, at: string): boolean => end === undefined || end > at;

/**
 * The latest of several end times. Undefined if one of them is undefined, because this means that there is no end. Also
 * undefined for an empty list.
 */
export const latestEnd = (ends: readonly (string | undefined)[]): string | undefined =>
  ends.includes(undefined)
    ? undefined
    : ends
        .flatMap((end) => end ?? [])
        .toSorted()
        .at(-1);

/** The permissions of a principal in one account. */
export type Permissions = {
  /**
   * Whether the principal has a grant, a group or ownership in the account, or is a super admin. To all other
   * principals the account answers 404.
   */
  member: boolean;
  /** True for account owners, and if `superAdmin` is true. */
  everything: boolean;
  /**
   * True if the principal was found to be a super admin. Authorization looks only if the principal's other permissions
   * are not enough. Besides the operator, only super admins give and revoke super admin.
   */
  superAdmin: boolean;
  grants: readonly EffectiveGrant[];
  /** When `member`, `everything` and `superAdmin` end. If one of them does not end, its time is absent. */
  ends?: { member?: string | undefined; everything?: string | undefined; superAdmin?: string | undefined };
};

export const noPermissions: Permissions = { member: false, everything: false, superAdmin: false, grants: [] };

/** The part of `permissions` that lasts until `until` at least; without `until`, the part that does not end. */
export function lastingUntil(permissions: Permissions, until: string | undefined): Permissions {
  const lasts = (end: string | undefined): boolean => end === undefined || (until !== undefined && end >= until);
  const { ends = {} } = permissions;
  return {
    member: permissions.member && lasts(ends.member),
    everything: permissions.everything && lasts(ends.everything),
    superAdmin: permissions.superAdmin && lasts(ends.superAdmin),
    grants: permissions.grants.filter(({ expires_at }) => lasts(expires_at)),
  };
}

/** The capabilities that a grant gives on its scope. */
export function capabilitiesOf({
  capability,
  role,
  capabilities = [],
}: Pick<EffectiveGrant, "capability" | "role" | "capabilities">): readonly Capability[] {
  if (role !== undefined) return roles[role];
  return capability === undefined ? capabilities : [capability];
}

const gives = (grant: EffectiveGrant, capability: Capability): boolean => capabilitiesOf(grant).includes(capability);

/**
 * Whether the capability needs no grant: owners and super admins have all capabilities, and every member may view the
 * account.
 */
const isImplied = (permissions: Permissions, capability: Capability): boolean =>
  permissions.everything || (permissions.member && capability === "account.view");

/** Whether the capability is held on a resource or on a scope that contains it. `scopes` are the resource's scopes. */
export function covers(permissions: Permissions, capability: Capability, scopes: readonly Scope[]): boolean {
  return (
    isImplied(permissions, capability) ||
    permissions.grants.some(
      (grant) =>
        gives(grant, capability) &&
        (grant.scope === undefined ||
          scopes.some((scope) => scope.type === grant.scope?.type && scope.id === grant.scope.id)),
    )
  );
}

/**
 * The capabilities that are held on the whole account, and on each resource of a narrower grant. The capabilities on a
 * resource include those on the whole account. Reads each grant once.
 */
export function capabilitiesHeld(permissions: Permissions): {
  onAccount: Capability[];
  onScopes: { scope: Scope; held: Capability[] }[];
} {
  const account = new Set(capabilities.filter((capability) => isImplied(permissions, capability)));
  const scopes = new Map<string, { scope: Scope; held: Set<Capability> }>();
  for (const { scope, ...grant } of permissions.grants) {
    const given = capabilitiesOf(grant);
    if (!scope) {
      given.forEach((capability) => account.add(capability));
      continue;
    }
    const key = `${scope.type}#${scope.id}`;
    const { held } = scopes.get(key) ?? { held: new Set() };
    given.forEach((capability) => held.add(capability));
    scopes.set(key, { scope, held });
  }
  const inOrder = (held: ReadonlySet<Capability>) =>
    capabilities.filter((capability) => account.has(capability) || held.has(capability));
  return {
    onAccount: inOrder(account),
    onScopes: [...scopes.values()].map(({ scope, held }) => ({ scope, held: inOrder(held) })),
  };
}

/** Whether the capability is held on anything in the account. */
export function holdsAnywhere(permissions: Permissions, capability: Capability): boolean {
  return isImplied(permissions, capability) || permissions.grants.some((grant) => gives(grant, capability));
}

/** The ids of the resources of a type on which the capability is held, or `all` if it is held on the whole account. */
export function idsHeld(permissions: Permissions, capability: Capability, type: ResourceType): "all" | string[] {
  if (covers(permissions, capability, [])) return "all";
  const ids = permissions.grants.flatMap((grant) =>
    gives(grant, capability) && grant.scope?.type === type ? [grant.scope.id] : [],
  );
  return [...new Set(ids)];
}
