import * as z from "zod";

import { asSuperAdmin, standingOf } from "../../../shared/accounts/standing.ts";
import {
  EffectiveGrant,
  type Permissions,
  capabilitiesOf,
  covers,
  noPermissions,
} from "../../../shared/auth/permissions.ts";
import { accountIn } from "../../../shared/http/authorize.ts";
import type { InvocationContext, InvokeResult } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";

/** The permissions that a caller held in an account when a program ran. */
export const HeldPermissions = z.object({
  account_id: z.string(),
  /** Whether the caller held every capability. `grants` is then empty. */
  everything: z.boolean(),
  grants: z.array(EffectiveGrant.omit({ id: true })),
});
export type HeldPermissions = z.output<typeof HeldPermissions>;

/** The permissions that the calls of a program relied on. */
export type PermissionSnapshot = {
  /**
   * The permissions by account id. If permissions change during the run, the old and the new permissions are recorded.
   */
  accounts: Map<string, { everything: boolean; grants: Map<string, EffectiveGrant> }>;
  /**
   * Whether an answer showed a resource that may later become hidden from the caller, although the caller loses no
   * permission.
   */
  mayBecomeHidden: boolean;
};

export const emptySnapshot = (): PermissionSnapshot => ({ accounts: new Map(), mayBecomeHidden: false });

/** The most accounts whose permissions are looked up before a stored answer is replayed. */
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
    snapshot.mayBecomeHidden ||= mayLoseSight(route, permissions);
  } else if (shown) {
    // An account is visible to all its members, so no permission is recorded. A replay then requires only membership.
    for (const id of shown) recordPermissions(snapshot, id, noPermissions);
  } else {
    snapshot.mayBecomeHidden ||= !callerOnly.test(route.name);
  }
}

function recordPermissions(
  { accounts }: PermissionSnapshot,
  accountId: string,
  { everything, grants }: Permissions,
): void {
  const held = accounts.get(accountId) ?? { everything: false, grants: new Map() };
  held.everything ||= everything;
  // A role can change during the run while its grant keeps the same id. So the key has the capabilities too.
  for (const grant of grants) held.grants.set([grant.id, ...(grant.capabilities ?? [])].join(" "), grant);
  accounts.set(accountId, held);
}

/** Matches the functions that take no account and whose answers concern only the caller. */
const callerOnly = /^(?:me|functions|auth\.session)\./;

/** The accounts in an answer of `accounts.list`, each visible to its members only. Undefined for other functions. */
const accountsShown = ({ name }: Route, output: unknown): string[] | undefined =>
  name === "accounts.list" ? AccountList.parse(output).items.map(({ id }) => id) : undefined;
const AccountList = z.object({ items: z.array(z.object({ id: z.string() })) });

/**
 * Tells whether a call that shows resources was allowed only by a grant on a part of the account. A resource may later
 * move out of that part, for example to another workspace. A route that has the part in its path (`scope` is a
 * function) always reads the same part, so the answer is false for it.
 */
const mayLoseSight = ({ access, capability, scope }: Route, permissions: Permissions): boolean =>
  (access === "read" || scope === "visible") &&
  capability !== null &&
  typeof scope !== "function" &&
  !covers(permissions, capability, []);

/**
 * The recorded permissions, in the form that is stored with an answer. Undefined if the answer must not be stored:
 * there are too many accounts, or the permissions do not tell whether the caller may still see the answer.
 */
export function storedPermissions({ accounts, mayBecomeHidden }: PermissionSnapshot): HeldPermissions[] | undefined {
  if (mayBecomeHidden || accounts.size > mostAccounts) return undefined;
  return [...accounts].map(([account_id, { everything, grants }]) => ({
    account_id,
    everything,
    grants: everything ? [] : [...grants.values()].map(({ id: _, ...grant }) => grant),
  }));
}

/** The caller's permissions in an account. */
export async function permissionsOf(
  accountId: string,
  { table, authenticate, now }: Pick<InvocationContext, "table" | "authenticate" | "now">,
): Promise<Permissions> {
  const principal = await authenticate();
  const at = now();
  const own = await standingOf(table, principal, accountId, false, at);
  return own.permissions.everything
    ? own.permissions
    : (await asSuperAdmin(table, principal, accountId, own, at)).permissions;
}

/**
 * Tells whether the caller still holds every recorded permission. The stored answer then shows nothing that the caller
 * may not see. If a recorded grant is on a resource, a grant on a larger resource that contains it does not count. The
 * resources would have to be read to know this, and only permissions are read here.
 */
export async function stillHolds(
  held: readonly HeldPermissions[],
  context: Pick<InvocationContext, "table" | "authenticate" | "now">,
): Promise<boolean> {
  const still = await Promise.all(
    held.map(async (then) => stillIncludes(await permissionsOf(then.account_id, context), then)),
  );
  return still.every(Boolean);
}

function stillIncludes(now: Permissions, then: HeldPermissions): boolean {
  if (!now.member) return false;
  if (now.everything) return true;
  if (then.everything) return false;
  return then.grants.every((grant) =>
    capabilitiesOf(grant).every((capability) => covers(now, capability, grant.scope ? [grant.scope] : [])),
  );
}
