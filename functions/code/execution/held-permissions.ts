import * as z from "zod";

import { asSuperAdmin, standingOf } from "../../../shared/accounts/standing.ts";
import {
  HeldGrant,
  type Permissions,
  capabilitiesOf,
  covers,
  noPermissions,
} from "../../../shared/auth/permissions.ts";
import { accountIn } from "../../../shared/http/authorize.ts";
import type { InvocationContext, InvokeResult } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";

/** The permissions a caller held in an account when a program ran. */
export const Held = z.object({
  account_id: z.string(),
  everything: z.boolean(),
  grants: z.array(HeldGrant.omit({ id: true })),
});
export type Held = z.output<typeof Held>;

/** The permissions that the calls of a program relied on. */
export type PermissionSnapshot = {
  /** By account. Permissions that change during the run are all recorded. */
  accounts: Map<string, { everything: boolean; grants: Map<string, HeldGrant> }>;
  /** Whether the program read something that the caller may lose sight of without losing a permission. */
  mayLeave: boolean;
};

export const emptySnapshot = (): PermissionSnapshot => ({ accounts: new Map(), mayLeave: false });

/** Replaying a stored answer checks the permissions of this many accounts at most. */
const mostAccounts = 20;

/** Records the permissions that a call relied on. */
export function recordCall(
  snapshot: PermissionSnapshot,
  route: Route,
  { input, output, permissions }: InvokeResult,
): void {
  const accountId = accountIn(input);
  const shown = accountsShown(route, output);
  if (accountId !== undefined) {
    recordPermissions(snapshot, accountId, permissions);
    snapshot.mayLeave ||= isNarrowed(route, permissions);
  } else if (shown) for (const id of shown) recordPermissions(snapshot, id, noPermissions);
  else snapshot.mayLeave ||= !isOfCaller.test(route.name);
}

function recordPermissions(
  { accounts }: PermissionSnapshot,
  accountId: string,
  { everything, grants }: Permissions,
): void {
  const held = accounts.get(accountId) ?? { everything: false, grants: new Map() };
  held.everything ||= everything;
  for (const grant of grants) held.grants.set(grant.id, grant);
  accounts.set(accountId, held);
}

/** Functions without an account whose answers concern only the caller. */
const isOfCaller = /^(?:me|functions|auth\.session)\./;

/** The accounts in an answer of `accounts.list`, which only their members may see; undefined for other functions. */
const accountsShown = ({ name }: Route, output: unknown): string[] | undefined =>
  name === "accounts.list" ? AccountList.parse(output).items.map(({ id }) => id) : undefined;
const AccountList = z.object({ items: z.array(z.object({ id: z.string() })) });

/**
 * Tells whether only a grant on a part of the account allowed a read. What the read returned may later move out of that part.
 * A route with scopes in its path always reads the same part.
 */
const isNarrowed = ({ access, capability, scope }: Route, permissions: Permissions): boolean =>
  access === "read" && capability !== null && typeof scope !== "function" && !covers(permissions, capability, []);

/**
 * The recorded permissions as stored with an answer; undefined if permissions alone cannot justify replaying the
 * answer.
 */
export function storedPermissions({ accounts, mayLeave }: PermissionSnapshot): Held[] | undefined {
  if (mayLeave || accounts.size > mostAccounts) return undefined;
  return [...accounts].map(([account_id, { everything, grants }]) => ({
    account_id,
    everything,
    grants: everything ? [] : [...grants.values()].map(({ id: _, ...grant }) => grant),
  }));
}

/** The caller's permissions in an account. */
export async function permissionsOf(
  accountId: string,
  { table, authenticate }: Pick<InvocationContext, "table" | "authenticate">,
): Promise<Permissions> {
  const principal = await authenticate();
  const own = await standingOf(table, principal, accountId, false);
  return own.permissions.everything
    ? own.permissions
    : (await asSuperAdmin(table, principal, accountId, own)).permissions;
}

/**
 * Tells whether the caller still holds every recorded permission, so that the stored answer shows nothing they may not
 * see. A caller with other permissions gets a fresh answer, even if those are wider.
 */
export async function stillHolds(
  held: readonly Held[],
  context: Pick<InvocationContext, "table" | "authenticate">,
): Promise<boolean> {
  const still = await Promise.all(
    held.map(async (then) => stillIncludes(await permissionsOf(then.account_id, context), then)),
  );
  return still.every(Boolean);
}

function stillIncludes(now: Permissions, then: Held): boolean {
  if (!now.member || now.everything) return now.member;
  if (then.everything) return false;
  return then.grants.every((grant) =>
    capabilitiesOf(grant).every((capability) => covers(now, capability, grant.scope ? [grant.scope] : [])),
  );
}
