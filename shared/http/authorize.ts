import { accountKey, StoredAccount } from "../accounts/account.ts";
import { asSuperAdmin, standingOf } from "../accounts/standing.ts";
import { viewOf } from "../auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, type Permissions, type Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { InvalidInput, notFound, Problem } from "../core/errors.ts";
import type { Table } from "../table/table.ts";
import type { ParsedInput } from "./input.ts";
import { isStopped } from "./may-call.ts";
import type { Located, Route } from "./route.ts";

/** What the principal may do with what, and the thing that the input names. */
export type Authorized = {
  permissions: Permissions;
  found?: Located<unknown> | undefined;
  /** What contains the thing, as it was decided by; undefined where that is the whole account, or nothing in particular. */
  scopes?: Scope[] | undefined;
};

/** The account that a request is about: that of the path, or of the query where it may be asked about one. */
export function accountIn({ params, query }: Pick<ParsedInput, "params" | "query">): string | undefined {
  const id = params["account_id"] ?? query["account_id"];
  return typeof id === "string" ? id : undefined;
}

/** 401 is settled: 404, 422, 403, or what the principal may do with what. */
export async function authorize(
  route: Route,
  input: ParsedInput,
  principal: Principal,
  table: Table,
): Promise<Authorized> {
  const accountId = accountIn(input);
  if (accountId === undefined || route.public) {
    const found = await route.subject?.find(input, table);
    if (route.subject && !(found && (await isServed(table, found)))) throw missing(route, input);
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
  if (!isAllowed(route, scopes, permissions))
    throw refusal(route, input, found?.id === accountId ? undefined : scopes, permissions);
  if (route.subject && !found) throw missing(route, input);
  if (isStopped(route, accountStatus)) {
    throw new Problem("account_suspended", `This account is ${accountStatus}: it can be read, not changed.`);
  }
  return { permissions, found, scopes };
}

/**
 * What a principal may do who may still do with things in these scopes what a route does; undefined for others. For what
 * was answered about a thing that is gone since.
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

/** Whether the account that a thing is of takes changes; one that does not has nothing for a stranger. */
async function isServed(table: Table, { accountId = "" }: Located<unknown>): Promise<boolean> {
  const account = await table.get(accountKey(accountId), StoredAccount);
  return account?.status === "active" || account?.status === "past_due";
}

/** The thing the input names and what contains it; undefined where the route is about the account, or narrows itself. */
function scopesOf({ scope, subject }: Route, { params }: ParsedInput, found?: Located<unknown>): Scope[] | undefined {
  if (subject) return found?.scopes ?? [];
  return typeof scope === "function" ? scope(params) : undefined;
}

function isAllowed({ capability, scope }: Route, scopes: Scope[] | undefined, permissions: Permissions): boolean {
  if (capability === null) return permissions.member;
  if (scope === "visible") return holdsAnywhere(permissions, capability);
  return covers(permissions, capability, scopes ?? []);
}

/** Whether the answer would show these permissions less than the whole account. */
const isNarrowed = ({ capability, scope }: Route, permissions: Permissions): boolean =>
  scope === "visible" && !(capability === null ? permissions.everything : covers(permissions, capability, []));

/**
 * Who may see the thing, which everybody may whose account it is itself (no `scopes`), or holds neither the capability nor its view anywhere, is told what is missing.
 * Who holds it elsewhere gets the same answer for a thing outside of their scopes and for one that does not exist.
 */
function refusal(
  route: Route,
  input: ParsedInput,
  scopes: Scope[] | undefined,
  permissions: Permissions,
): Problem | InvalidInput {
  const { capability } = route;
  if (capability === null) return notFound();
  const view = viewOf(capability);
  const nowhere = !holdsAnywhere(permissions, view) && !holdsAnywhere(permissions, capability);
  if (scopes && !nowhere && !covers(permissions, view, scopes)) return missing(route, input);
  return new Problem("forbidden", `This needs the capability ${capability}.`, { required_capability: capability });
}

/** The answer for a thing that is not there, or that the caller does not see. */
function missing({ subject }: Route, input: ParsedInput): Problem | InvalidInput {
  if (subject === undefined || subject.at === "path") return notFound();
  const { at, missing: msg = "There is no such thing in this account that you can see" } = subject;
  return new InvalidInput([{ loc: [...(typeof at === "function" ? at(input) : at)], msg, type: "not_found" }]);
}
