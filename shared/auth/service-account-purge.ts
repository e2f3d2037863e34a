import type { Context } from "../route.ts";
import { getAssignments, planRevocation } from "./assignments.ts";
import { planForgotten, readHeld } from "./holders.ts";
import { leaveGroups } from "./member-removal.ts";

/** Each takes up to four writes of the hundred that a transaction has. */
const atOnce = 20;

/**
 * Revokes all that a service account holds, takes it out of its groups and forgets it. Its tokens are dead
 * already: what it held goes some at a time, and what is left meanwhile gives nobody anything.
 */
export async function purgeServiceAccount(
  { table, commit, now }: Pick<Context, "table" | "commit" | "now">,
  accountId: string,
  id: string,
): Promise<void> {
  const subject = { type: "service_account" as const, id };
  for (let isForgotten = false; !isForgotten;) {
    isForgotten = await commit(async () => {
      const held = await readHeld(table, accountId, subject);
      if (!held) return { value: true, writes: [], changes: [] };
      const grants = held.grants.map((grant) => grant.id);
      const ids = held.owner_grant_id === undefined ? grants : [...grants, held.owner_grant_id];
      const some = await getAssignments(table, accountId, ids.slice(0, atOnce));
      if (some.length > 0) return { value: false, ...(await planRevocation(table, accountId, some, now())) };
      const writes = await planForgotten(table, accountId, subject);
      return { value: writes.length > 0, writes, changes: [] };
    });
    const held = isForgotten ? undefined : await readHeld(table, accountId, subject);
    // The record is short by then: leaving groups rewrites it every time.
    if (held?.grants.length === 0) await leaveGroups({ table, commit }, accountId, subject, held.groups);
  }
}
