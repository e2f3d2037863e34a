import * as z from "zod";

import { asSuperAdmin, standingOf } from "../../shared/auth/access.ts";
import { capabilitiesOf, covers, HeldGrant, type Permissions } from "../../shared/auth/permissions.ts";
import type { Door } from "../../shared/invoke.ts";
import { gathered } from "../../shared/table/gathered.ts";

/** What a caller held in an account when a program ran there. */
export const Held = z.object({
  account_id: z.string(),
  everything: z.boolean(),
  grants: z.array(HeldGrant.omit({ id: true })),
});
export type Held = z.output<typeof Held>;

/** What the calls of a program were allowed by, account by account: all of it, should it change on the way. */
export type Holdings = Map<string, { everything: boolean; grants: Map<string, HeldGrant> }>;

export function noteHeld(holdings: Holdings, accountId: string, { everything, grants }: Permissions): void {
  const held = holdings.get(accountId) ?? { everything: false, grants: new Map() };
  held.everything ||= everything;
  for (const grant of grants) held.grants.set(grant.id, grant);
  holdings.set(accountId, held);
}

/** What was held, as it is kept. */
export const heldOf = (holdings: Holdings): Held[] =>
  [...holdings].map(([account_id, { everything, grants }]) => ({
    account_id,
    everything,
    grants: everything ? [] : [...grants.values()].map(({ id: _, ...grant }) => grant),
  }));

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
