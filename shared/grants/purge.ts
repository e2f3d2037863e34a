import type { Scope } from "../auth/permissions.ts";
import type { Change } from "../changes/kind.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { assignmentsOn, planRevocation } from "./assignments.ts";

/** How many grants one transaction takes along; the rest of very many goes in transactions of their own. */
const grantsAtOnce = 10;

/** What revokes the first few grants on a thing that goes; `isAll` when there are no more. */
export async function planPurge(
  table: Reader,
  accountId: string,
  scope: Scope,
  now: Date,
): Promise<{ isAll: boolean; writes: Write[]; changes: Change[] }> {
  const bound = await assignmentsOn(table, accountId, scope);
  const isAll = bound.length <= grantsAtOnce;
  return { isAll, ...(await planRevocation(table, accountId, bound.slice(0, grantsAtOnce), now)) };
}
