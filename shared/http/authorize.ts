import { accountKey, StoredAccount } from "../accounts/account.ts";
import { asSuperAdmin, standingOf } from "../accounts/standing.ts";
import { viewCapability, type Capability } from "../auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, type Permissions, type Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { InvalidInput, notFound, Problem } from "../core/errors.ts";
import type { Table } from "../table/table.ts";
import type { ParsedInput } from "./input.ts";
import { isStopped } from "./may-call.ts";
import type { LocatedResource, Route } from "./route.ts";

/** The permissions of the principal, and the resource that the input names. */
export type Authorized = {
  permissions: Permissions;
  found?: LocatedResource<unknown> | undefined;
  /**
   * The scopes by which the request was allowed; undefined if the route is about the whole account or narrows its own
   * answer.
   */
  scopes?: Scope[] | undefined;
};

/** The id of the account that a request is about, from the path or else from the query. */
export function accountIn({ params, query }: Pick<ParsedInput, "params" | "query">): string | undefined {
  const id = params["account_id"] ?? query["account_id"];
  return typeof id === "string" ? id : undefined;
}

/**
 * Authorizes a request whose credential was checked before (401). Throws 404, 422 or 403; otherwise returns the
 * permissions of the principal and the resource.
 */
export async function authorize(
  route: Route,
  input: ParsedInput,
  principal: Principal,
  table: Table,
): Promise<Authorized> {
  const accountId = accountIn(input);
  if (accountId === undefined || route.public) {
    const found = await route.subject?.find(input, table);
    if (route.subject && !(found && (await isServed(table, found)))) throw missingResource(route, input);
    return { permissions: noPermissions, found };
  }
  const [own, found] = await Promise.all([
    standingOf(table, principal, accountId, route.access === "write"),
    route.subject?.find(input, table),
  ]);
  const scopes = scopesOf(route, input, found);
  const enough = isAllowed(route, scopes, own.permissions) && !isNarrowed(route, own.permissions);
  const { permissions, accountStatus } = enough ? own : await asSuperAdmin(table, principal, accountId, own);
  if (!permissions.member) throw notFound();
  const { capability } = route;
  if (capability !== null && !isAllowed(route, scopes, permissions)) {
    const hidden = missingResource(route, input);
    throw forbidden(capability, hidden, found?.id === accountId ? undefined : scopes, permissions);
  }
  if (route.subject && !found) throw missingResource(route, input);
  if (isStopped(route, accountStatus)) {
    throw new Problem("account_suspended", `This account is ${accountStatus}. It can be read, but not changed.`);
  }
  return { permissions, found, scopes };
}

/**
 * The permissions of a principal, if it may still call the route on resources in these scopes; otherwise undefined.
 * Used for stored answers about a resource that has been deleted since.
 */
export async function mayStill(
  route: Route,
  input: ParsedInput,
  scopes: Scope[] | undefined,
  principal: Principal,
  table: Table,
): Promise<Permissions | undefined> {
  const accountId = accountIn(input);
  if (accountId === undefined) return noPermissions;
  const { permissions: own } = await standingOf(table, principal, accountId, false);
  const { permissions } = await asSuperAdmin(table, principal, accountId, { permissions: own });
  return permissions.member && isAllowed(route, scopes, permissions) ? permissions : undefined;
}

/** Whether the resource's account is active or past due. Public routes show nothing of other accounts. */
async function isServed(table: Table, { accountId = "" }: LocatedResource<unknown>): Promise<boolean> {
  const account = await table.get(accountKey(accountId), StoredAccount);
  return account?.status === "active" || account?.status === "past_due";
}

/**
 * The scopes of the resource that the input names; undefined if the route is about the account or narrows its own
 * answer.
 */
function scopesOf(
  { scope, subject }: Route,
  { params }: ParsedInput,
  found?: LocatedResource<unknown>,
): Scope[] | undefined {
  if (subject) return found?.scopes ?? [];
  return typeof scope === "function" ? scope(params) : undefined;
}

function isAllowed({ capability, scope }: Route, scopes: Scope[] | undefined, permissions: Permissions): boolean {
  if (capability === null) return permissions.member;
  if (scope === "visible") return holdsAnywhere(permissions, capability);
  return covers(permissions, capability, scopes ?? []);
}

/** Whether these permissions would show only a part of the account. */
const isNarrowed = ({ capability, scope }: Route, permissions: Permissions): boolean =>
  scope === "visible" && !(permissions.everything || (capability !== null && covers(permissions, capability, [])));

/**
 * The error for a caller without the required permission.
 * - 403 `forbidden`, which names the capability, for callers who may see the resource, and for callers who hold neither
 *   the capability nor its view anywhere. Every member may see the account itself (no `scopes`).
 * - For other callers `hidden`, the answer for a missing resource, so that they cannot tell which resources exist outside
 *   of their scopes.
 */
function forbidden(
  capability: Capability,
  hidden: Problem | InvalidInput,
  scopes: Scope[] | undefined,
  permissions: Permissions,
): Problem | InvalidInput {
  const view = viewCapability(capability);
  const nowhere = !holdsAnywhere(permissions, view) && !holdsAnywhere(permissions, capability);
  if (scopes && !nowhere && !covers(permissions, view, scopes)) return hidden;
  return new Problem("forbidden", `This needs the capability ${capability}.`, { required_capability: capability });
}

/**
 * The error for a resource that does not exist or that the caller may not see: 404 if the path names it, otherwise 422.
 */
function missingResource({ subject }: Route, input: ParsedInput): Problem | InvalidInput {
  if (subject === undefined || subject.at === "path") return notFound();
  const { at, missing: msg = "There is no such resource in this account, or you cannot see it" } = subject;
  return new InvalidInput([{ loc: [...(typeof at === "function" ? at(input) : at)], msg, type: "not_found" }]);
}
