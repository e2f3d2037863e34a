import * as z from "zod";

import { Capability, RoleKey, roles } from "./capabilities.ts";

/** What a grant can be bound to, in the specification's words; most kinds come with their families. */
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

/** One thing inside an account. A thing's scopes are itself and everything that contains it but the account. */
export const Scope = z.object({ type: ResourceType, id: z.string() });
export type Scope = z.output<typeof Scope>;

/** One grant as the decision needs it: a capability or a role, on a scope or on the whole account. */
export const HeldGrant = z.object({
  id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  scope: Scope.optional(),
});
export type HeldGrant = z.output<typeof HeldGrant>;

/** What a principal may do in one account. */
export type Permissions = {
  /** Belongs to the account in any way; to everybody else it does not exist. */
  member: boolean;
  /** Account owners and super admins. */
  everything: boolean;
  superAdmin: boolean;
  grants: readonly HeldGrant[];
};

export const noPermissions: Permissions = { member: false, everything: false, superAdmin: false, grants: [] };

/** The capabilities one grant gives on its scope. */
export const capabilitiesOf = ({ capability, role }: Pick<HeldGrant, "capability" | "role">): readonly Capability[] =>
  role === undefined ? (capability === undefined ? [] : [capability]) : roles[role];

const gives = (grant: HeldGrant, capability: Capability): boolean => capabilitiesOf(grant).includes(capability);

/** Members see their account whatever they hold in it; everything else must be granted. */
const implied = (permissions: Permissions, capability: Capability): boolean =>
  permissions.everything || (permissions.member && capability === "account.view");

/** Whether the capability is held on something that contains (or is) the thing whose scopes are given. */
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

/** The things of one type that grants of the capability name, or `all` when the whole account is covered. */
export function scopesHeld(permissions: Permissions, capability: Capability, type: ResourceType): "all" | string[] {
  if (covers(permissions, capability, [])) return "all";
  const ids = permissions.grants.flatMap((grant) =>
    gives(grant, capability) && grant.scope?.type === type ? [grant.scope.id] : [],
  );
  return [...new Set(ids)];
}
