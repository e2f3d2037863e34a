import * as z from "zod";

import { Capability, RoleKey, roles } from "./capabilities.ts";

/**
 * The types of resources to which the specification narrows a grant. The product has no resources of some of these
 * types, and refuses a grant for them.
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

/** One grant as authorization reads it: a capability or a role, on a scope or on the whole account. */
export const HeldGrant = z.object({
  id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  scope: Scope.optional(),
});
export type HeldGrant = z.output<typeof HeldGrant>;

/** The permissions of a principal in one account. */
export type Permissions = {
  /** Whether the principal belongs to the account in any way. For everybody else the account does not exist (404). */
  member: boolean;
  /** True for account owners and super admins. */
  everything: boolean;
  superAdmin: boolean;
  grants: readonly HeldGrant[];
};

export const noPermissions: Permissions = { member: false, everything: false, superAdmin: false, grants: [] };

/** The capabilities one grant gives on its scope. */
export const capabilitiesOf = ({ capability, role }: Pick<HeldGrant, "capability" | "role">): readonly Capability[] =>
  role === undefined ? (capability === undefined ? [] : [capability]) : roles[role];

const gives = (grant: HeldGrant, capability: Capability): boolean => capabilitiesOf(grant).includes(capability);

/** Whether no grant is needed: owners may do everything, and every member may view the account. */
const implied = (permissions: Permissions, capability: Capability): boolean =>
  permissions.everything || (permissions.member && capability === "account.view");

/**
 * Whether the capability is held on a resource or on anything that contains it. `scopes` are the scopes of the
 * resource.
 */
export function covers(permissions: Permissions, capability: Capability, scopes: readonly Scope[]): boolean {
  return (
    implied(permissions, capability) ||
    permissions.grants.some(
      (grant) =>
        gives(grant, capability) &&
        (grant.scope === undefined ||
          scopes.some((scope) => scope.type === grant.scope?.type && scope.id === grant.scope.id)),
    )
  );
}

/** Whether the capability is held on anything in the account. */
export function holdsAnywhere(permissions: Permissions, capability: Capability): boolean {
  return implied(permissions, capability) || permissions.grants.some((grant) => gives(grant, capability));
}

/** The ids of the resources of one type on which the capability is granted, or `all` if it covers the whole account. */
export function scopesHeld(permissions: Permissions, capability: Capability, type: ResourceType): "all" | string[] {
  if (covers(permissions, capability, [])) return "all";
  const ids = permissions.grants.flatMap((grant) =>
    gives(grant, capability) && grant.scope?.type === type ? [grant.scope.id] : [],
  );
  return [...new Set(ids)];
}
