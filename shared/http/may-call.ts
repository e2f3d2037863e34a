import type { AccountStatus } from "../accounts/account.ts";
import { covers, holdsAnywhere, scopesHeld, type Permissions, type ResourceType } from "../auth/permissions.ts";
import type { Route } from "./route.ts";

/** Whether an account of this status refuses the route: one that is suspended or closed is read, not changed. */
export const isStopped = ({ access, whileSuspended }: Route, status: AccountStatus | undefined): boolean =>
  access === "write" && (status === "closed" || (status === "suspended" && !whileSuspended));

/** What a grant may be narrowed to and suffice for a call of the route, whatever that names. */
function kindsOf({ scope, subject }: Route): readonly ResourceType[] {
  if (subject) return subject.within;
  return typeof scope === "function" ? scope({}).map(({ type }) => type) : [];
}

/**
 * For what in an account these permissions suffice to call the route: `all` there is (a list shows what they cover),
 * `some` things, by a grant that is narrowed to them or to what contains them, or `none`.
 */
export function reachOf(route: Route, permissions: Permissions): "all" | "some" | "none" {
  const { capability, scope } = route;
  if (!permissions.member) return "none";
  if (capability === null || covers(permissions, capability, [])) return "all";
  if (scope === "visible") return holdsAnywhere(permissions, capability) ? "all" : "none";
  const held = kindsOf(route).flatMap((type) => scopesHeld(permissions, capability, type));
  return held.length > 0 ? "some" : "none";
}

/** Whether who has these permissions in an account of this status may call the route there, for anything at all. */
export function mayCall(route: Route, permissions: Permissions, status: AccountStatus | undefined): boolean {
  const isInAccount = !route.public && Object.hasOwn(route.params.shape, "account_id");
  return !isInAccount || (!isStopped(route, status) && reachOf(route, permissions) !== "none");
}
