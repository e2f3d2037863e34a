import { accountKey, type AccountStatus, type Debt, StoredStatus } from "../accounts/account.ts";
import { asSuperAdmin, standingOf, type AccessRecord } from "../accounts/standing.ts";
import { viewCapability, type Capability } from "../auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, type Permissions, type Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { invalidAt, type InvalidInput, notFound, Problem } from "../core/errors.ts";
import { money } from "../core/money.ts";
import type { Table } from "../table/table.ts";
import type { ParsedInput } from "./input.ts";
import { isStopped } from "./may-call.ts";
import type { LocatedResource, Route } from "./route.ts";

/** The result of authorization: the principal's permissions, and the resource that the input names. */
export type Authorized = {
  permissions: Permissions;
  found?: LocatedResource<unknown> | undefined;
  /** The scopes of the resource; undefined if the route is about the whole account or narrows its answer itself. */
  scopes?: Scope[] | undefined;
  /** The principal's access record in the account, if it has one. */
  record?: AccessRecord | undefined;
};

/** The account id in the path, or else in the query; undefined if there is none. */
export function accountIn({ params, query }: Pick<ParsedInput, "params" | "query">): string | undefined {
  const id = params["account_id"] ?? query["account_id"];
  return typeof id === "string" ? id : undefined;
}

/**
 * Authorizes a request of an authenticated principal. Throws:
 * - 404 for an account that the principal is not a member of;
 * - 403 `forbidden` without the route's capability;
 * - 403 `account_suspended` for a write to a closed account, or to a suspended account unless the route has
 *   `whileSuspended`;
 * - for a public route or an input without an account: 403 `account_suspended` if the resource's account is suspended
 *   or closed. `route.subject.stopped` is the text of this error. Without this text, the error is that of a missing
 *   resource;
 * - 404 or 422 for a resource that does not exist or that the principal may not see.
 */
export async function authorize(
  route: Route,
  input: ParsedInput,
  principal: Principal,
  table: Table,
  now: Date,
): Promise<Authorized> {
  const accountId = accountIn(input);
  if (accountId === undefined || route.public) {
    const found = await route.subject?.find(input, table);
    if (route.subject && !found) throw missingResource(route, input);
    if (found && !(await hasServedAccount(table, found))) {
      const { stopped: detail } = route.subject ?? {};
      throw detail === undefined ? missingResource(route, input) : new Problem("account_suspended", detail);
    }
    return { permissions: noPermissions, found };
  }
  const [own, found] = await Promise.all([
    standingOf(table, principal, accountId, route.access === "write", now),
    route.subject?.find(input, table),
  ]);
  const scopes = scopesOf(route, input, found);
  // If true, a super admin would get the same decision and the same answer. So it is not looked up whether the
  // principal is a super admin.
  const isEnough =
    isAllowed(route, scopes, own.permissions) &&
    !isNarrowed(route, own.permissions) &&
    (own.permissions.everything || !route.usesPermissions);
  const { permissions, accountStatus, debt } = isEnough
    ? own
    : await asSuperAdmin(table, principal, accountId, own, now);
  if (!permissions.member) throw notFound();
  const { capability } = route;
  if (capability !== null && !isAllowed(route, scopes, permissions)) {
    const missing = missingResource(route, input);
    throw forbidden({ ...route, capability }, missing, found?.id === accountId ? undefined : scopes, permissions);
  }
  if (route.subject && !found) throw missingResource(route, input);
  if (isStopped(route, accountStatus)) throw stopped(accountStatus, debt, permissions);
  return { permissions, found, scopes, record: own.record };
}

/** Whether the principal has access to the account. */
export async function isMember(principal: Principal, accountId: string, table: Table, now: Date): Promise<boolean> {
  const own = await standingOf(table, principal, accountId, false, now);
  return own.permissions.member || (await asSuperAdmin(table, principal, accountId, own, now)).permissions.member;
}

/**
 * The permissions of the principal, if they allow the route on a resource in these scopes; else undefined. Without an
 * account in the input, the result is `noPermissions`. Use this for a stored answer about a resource that has been
 * deleted since.
 */
export async function permissionsStillHeld(
  route: Route,
  input: ParsedInput,
  scopes: Scope[] | undefined,
  principal: Principal,
  table: Table,
  now: Date,
): Promise<Permissions | undefined> {
  const accountId = accountIn(input);
  if (accountId === undefined) return noPermissions;
  const { permissions: own } = await standingOf(table, principal, accountId, false, now);
  const { permissions } = await asSuperAdmin(table, principal, accountId, { permissions: own }, now);
  return permissions.member && isAllowed(route, scopes, permissions) ? permissions : undefined;
}

/**
 * Whether the resource's account is active or past due. If it is neither, a public route does not show the resource,
 * and a route without an account in its path does not either.
 */
async function hasServedAccount(table: Table, { accountId = "" }: LocatedResource<unknown>): Promise<boolean> {
  const account = await table.get(accountKey(accountId), StoredStatus);
  return account?.status === "active" || account?.status === "past_due";
}

/** The scopes of the resource that the input names, as in `Authorized`; none if the resource does not exist. */
function scopesOf(
  { scope, subject }: Route,
  { params }: ParsedInput,
  found?: LocatedResource<unknown>,
): Scope[] | undefined {
  if (subject) return found?.scopes ?? [];
  return typeof scope === "function" ? scope(params) : undefined;
}

/** Whether the permissions allow the route on a resource in these scopes. */
function isAllowed(route: Route, scopes: Scope[] | undefined, permissions: Permissions): boolean {
  const { capability, scope, subject } = route;
  if (capability === null) return permissions.member;
  if (scope === "visible") return holdsAnywhere(permissions, capability);
  const enough = scopes?.filter(({ type }) => subject === undefined || subject.within.includes(type));
  return covers(permissions, capability, enough ?? []);
}

/** Whether these permissions limit the route's answer to a part of the account. */
export const isNarrowed = ({ capability, scope }: Route, permissions: Permissions): boolean =>
  scope === "visible" && !(permissions.everything || (capability !== null && covers(permissions, capability, [])));

/**
 * The error for a caller without the required permission.
 * - 403 `forbidden` if the caller may see the resource, or has a grant that is narrower than `subject.within`. The
 *   error names the capability. If `scopes` is undefined, the resource is the account itself, which every member may
 *   see.
 * - The same 403 for a caller who holds neither the capability nor its view capability anywhere.
 * - `missing`, the error for a missing resource, for any other caller. So the caller cannot tell which resources exist
 *   outside of the caller's scopes.
 */
function forbidden(
  { capability, subject }: Pick<Route, "subject"> & { capability: Capability },
  missing: Problem | InvalidInput,
  scopes: Scope[] | undefined,
  permissions: Permissions,
): Problem | InvalidInput {
  const view = viewCapability(capability);
  const holdsOne = holdsAnywhere(permissions, view) || holdsAnywhere(permissions, capability);
  // The caller was refused. So a grant that covers the resource is narrower than the scopes in `subject.within`.
  const hasNarrowGrant = covers(permissions, capability, scopes ?? []);
  if (scopes && holdsOne && !hasNarrowGrant && !covers(permissions, view, scopes)) return missing;
  const place = hasNarrowGrant ? ` on the ${subject?.within.join(" or the ")}: a narrower grant is not enough` : "";
  return new Problem("forbidden", `This needs the capability ${capability}${place}.`, {
    required_capability: capability,
  });
}

/**
 * The 403 of an account that cannot be changed. For a suspended account, the error names the call that tops up the
 * wallet. If the missing amount is known, callers who may see the billing also get this amount.
 */
function stopped(status: AccountStatus | undefined, debt: Debt | undefined, permissions: Permissions): Problem {
  const readable = "It can be read, but not changed.";
  if (status === "closed") return new Problem("account_suspended", `This account is closed. ${readable}`);
  const topUp = "top up the wallet with billing.topup_session.create";
  if (!debt) {
    const advice = `If something is unpaid, ${topUp}. Otherwise ask our support.`;
    return new Problem("account_suspended", `This account is suspended. ${readable} ${advice}`);
  }
  const amount = covers(permissions, "billing.view", [])
    ? ` ${money(debt.missing)} ${debt.currency} was missing when it was suspended.`
    : "";
  const way = `To end this, ${topUp}: the account is active again as soon as everything is paid.`;
  return new Problem(
    "account_suspended",
    `This account is suspended for an unpaid balance.${amount} ${readable} ${way}`,
  );
}

/**
 * The error for a resource that does not exist or that the caller may not see: 404 if the path names it, otherwise 422.
 */
function missingResource({ subject }: Route, input: ParsedInput): Problem | InvalidInput {
  if (subject === undefined || subject.at === "path") return notFound();
  const { at, missing: msg = "There is no such resource in this account, or you cannot see it" } = subject;
  return invalidAt([...(typeof at === "function" ? at(input) : at)], msg, "not_found");
}
