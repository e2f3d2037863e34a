import type { AccountStatus } from "../accounts/account.ts";
import { covers, holdsAnywhere, idsHeld, type Permissions, type ResourceType } from "../auth/permissions.ts";
import type { Route } from "./route.ts";

/**
 * Whether an account of this status refuses the route. A suspended or closed account can be read, but not changed.
 * Routes with `whileSuspended` can change a suspended account.
 */
export const isStopped = ({ access, whileSuspended }: Route, status: AccountStatus | undefined): boolean =>
  access === "write" && (status === "closed" || (status === "suspended" && !whileSuspended));

/** The types of scopes to which a grant for the route can be narrowed. */
function scopeTypesOf({ scope, subject }: Route): readonly ResourceType[] {
  if (subject) return subject.within;
  return typeof scope === "function" ? scope({}).map(({ type }) => type) : [];
}

/**
 * The part of an account in which these permissions are enough to call the route:
 * - `all`: the whole account. A list may still show a part only (`scope: "visible"`).
 * - `some`: the resources to which a grant is narrowed, and the resources inside these.
 * - `none`: no part.
 */
export function reachOf(route: Route, permissions: Permissions): "all" | "some" | "none" {
  const { capability, scope } = route;
  if (!permissions.member) return "none";
  if (capability === null || covers(permissions, capability, [])) return "all";
  if (scope === "visible") return holdsAnywhere(permissions, capability) ? "all" : "none";
  const held = scopeTypesOf(route).flatMap((type) => idsHeld(permissions, capability, type));
  return held.length > 0 ? "some" : "none";
}

/** Whether a caller with these permissions may call the route at all in an account of this status. */
export function mayCall(route: Route, permissions: Permissions, status: AccountStatus | undefined): boolean {
  const isInAccount = !route.public && Object.hasOwn(route.params.shape, "account_id");
  return !isInAccount || (!isStopped(route, status) && reachOf(route, permissions) !== "none");
}
