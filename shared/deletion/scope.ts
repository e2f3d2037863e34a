import { planPurge } from "../grants/assignments.ts";
import { planCredentialPurge } from "../mail/credentials/manage.ts";
import { planRulePurge } from "../mail/forwarding/remove.ts";
import type { Purge } from "../mail/scoped/remove.ts";
import type { Reader } from "../table/table.ts";

/**
 * What ends some of what is bound to a workspace or domain that goes: the grants on it, then the master passwords and
 * the forwarding rules for it. One sort at a time, as several may be about the same holder of grants; `isAll` when nothing is left.
 */
export async function planScopePurge(
  table: Reader,
  accountId: string,
  scope: { type: "workspace" | "domain"; id: string },
  now: Date,
): Promise<Purge> {
  const place = { table, accountId, now };
  const steps = [
    () => planPurge(table, accountId, scope, now),
    () => planCredentialPurge(place, scope),
    () => planRulePurge(place, scope),
  ];
  for (const step of steps) {
    const planned = await step();
    if (planned.writes.length > 0) return { ...planned, isAll: false };
  }
  return { isAll: true, writes: [], changes: [] };
}
