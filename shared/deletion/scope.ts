import { planPurge } from "../grants/assignments.ts";
import { planCredentialPurge } from "../mail/credentials/manage.ts";
import { planRulePurge } from "../mail/forwarding/remove.ts";
import type { Purge } from "../mail/scoped/remove.ts";
import type { Reader } from "../table/table.ts";

/**
 * Plans the next deletions for a workspace or domain that is being deleted: its grants if any are left, then its master
 * passwords, then its forwarding rules. One plan deletes only one of these kinds. The deletions of two kinds can change
 * the grants of the same holder, and a transaction cannot write an item twice. `isAll` is true if the plan deletes all
 * that is left.
 */
export async function planScopePurge(
  table: Reader,
  accountId: string,
  scope: { type: "workspace" | "domain"; id: string },
  now: Date,
): Promise<Purge> {
  const place = { table, accountId, now };
  const plans = await Promise.all([
    planPurge(table, accountId, scope, now),
    planCredentialPurge(place, scope),
    planRulePurge(place, scope),
  ]);
  const [first, ...others] = plans.filter(({ writes }) => writes.length > 0);
  if (!first) return { isAll: true, writes: [], changes: [] };
  return { ...first, isAll: first.isAll && others.length === 0 };
}
