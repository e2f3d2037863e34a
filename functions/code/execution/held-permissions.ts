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
import type { Door, Outcome } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";
import { gathered } from "../../../shared/table/gathered.ts";

/** What a caller held in an account when a program ran there. */
export const Held = z.object({
  account_id: z.string(),
  everything: z.boolean(),
  grants: z.array(HeldGrant.omit({ id: true })),
});
export type Held = z.output<typeof Held>;

/** What the calls of a program were allowed by. */
export type PermissionSnapshot = {
  /** Account by account: all of it, should it change on the way. */
  accounts: Map<string, { everything: boolean; grants: Map<string, HeldGrant> }>;
  /** Whether something was read that may leave what the caller sees while they hold what they hold. */
  mayLeave: boolean;
};

export const emptySnapshot = (): PermissionSnapshot => ({ accounts: new Map(), mayLeave: false });

/** More accounts are not looked at for an answer that was given before. */
const mostAccounts = 20;

/** Notes what a call was allowed by. */
export function noteCall(holdings: PermissionSnapshot, route: Route, { input, output, permissions }: Outcome): void {
  const accountId = accountIn(input);
  const shown = accountsShown(route, output);
  if (accountId !== undefined) {
    noteHeld(holdings, accountId, permissions);
    holdings.mayLeave ||= isNarrowed(route, permissions);
  } else if (shown) for (const id of shown) noteHeld(holdings, id, noPermissions);
  else holdings.mayLeave ||= !isOfCaller.test(route.name);
}

function noteHeld({ accounts }: PermissionSnapshot, accountId: string, { everything, grants }: Permissions): void {
  const held = accounts.get(accountId) ?? { everything: false, grants: new Map() };
  held.everything ||= everything;
  for (const grant of grants) held.grants.set(grant.id, grant);
  accounts.set(accountId, held);
}

/** Functions without an account that tell the caller of nobody else. */
const isOfCaller = /^(?:me|functions|auth\.session)\./;

/** The accounts that a list of them shows: whoever belongs to one may see it. Undefined for other functions. */
const accountsShown = ({ name }: Route, output: unknown): string[] | undefined =>
  name === "accounts.list" ? AccountList.parse(output).items.map(({ id }) => id) : undefined;
const AccountList = z.object({ items: z.array(z.object({ id: z.string() })) });

/**
 * Whether a read was allowed by a grant on a part of the account only: what it showed may be moved to where that does not
 * reach. A path that names its scopes always names the same.
 */
const isNarrowed = ({ access, capability, scope }: Route, permissions: Permissions): boolean =>
  access === "read" && capability !== null && typeof scope !== "function" && !covers(permissions, capability, []);

/** What was held, as it is kept; undefined where an answer is not to be given again by that. */
export function heldOf({ accounts, mayLeave }: PermissionSnapshot): Held[] | undefined {
  if (mayLeave || accounts.size > mostAccounts) return undefined;
  return [...accounts].map(([account_id, { everything, grants }]) => ({
    account_id,
    everything,
    grants: everything ? [] : [...grants.values()].map(({ id: _, ...grant }) => grant),
  }));
}

/** What the caller may do in an account. */
export async function permissionsOf(
  accountId: string,
  { table, authenticate }: Pick<Door, "table" | "authenticate">,
): Promise<Permissions> {
  const principal = await authenticate();
  const own = await standingOf(table, principal, accountId, false);
  return own.permissions.everything
    ? own.permissions
    : (await asSuperAdmin(table, principal, accountId, own)).permissions;
}

/**
 * Whether the caller still holds all that was held: then nothing that was answered is more than they may see. Who holds
 * something else instead, however much, is to be answered anew.
 */
export async function stillHolds(held: readonly Held[], door: Pick<Door, "table" | "authenticate">): Promise<boolean> {
  const reading = { ...door, table: gathered(door.table) };
  const still = await Promise.all(
    held.map(async (then) => includes(await permissionsOf(then.account_id, reading), then)),
  );
  return still.every(Boolean);
}

function includes(now: Permissions, then: Held): boolean {
  if (!now.member || now.everything) return now.member;
  if (then.everything) return false;
  return then.grants.every((grant) =>
    capabilitiesOf(grant).every((capability) => covers(now, capability, grant.scope ? [grant.scope] : [])),
  );
}
