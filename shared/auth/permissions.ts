import * as z from "zod";

import { Capability, RoleKey, roles } from "./capabilities.ts";

/** Kinds of things a grant can be narrowed to; without one it covers the whole account. */
export const ScopeType = z.enum(["workspace"]);
export type ScopeType = z.output<typeof ScopeType>;
export type Scope = { type: ScopeType; id: string };

/** One grant as the decision needs it: a capability or a role, on a scope or on the account. */
export const HeldGrant = z.object({
  id: z.string(),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  scope: z.object({ type: ScopeType, id: z.string() }).optional(),
});
export type HeldGrant = z.output<typeof HeldGrant>;

/** What a principal may do in one account. */
export type Permissions = {
  /** Holds anything at all in the account; to everybody else the account does not exist. */
  member: boolean;
  /** Account owners and super admins. */
  everything: boolean;
  grants: readonly HeldGrant[];
};

export const noPermissions: Permissions = { member: false, everything: false, grants: [] };

const gives = (grant: HeldGrant, capability: Capability): boolean =>
  grant.capability === capability ||
  (grant.role !== undefined && (roles[grant.role] as readonly Capability[]).includes(capability));

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
export function scopesHeld(permissions: Permissions, capability: Capability, type: ScopeType): "all" | string[] {
  if (covers(permissions, capability, [])) return "all";
  const ids = permissions.grants.flatMap((grant) =>
    gives(grant, capability) && grant.scope?.type === type ? [grant.scope.id] : [],
  );
  return [...new Set(ids)];
}
