import { accessKey } from "../../accounts/standing.ts";
import type { Change } from "../../changes/kind.ts";
import { getAssignments, planRevocation } from "../../grants/assignments.ts";
import { planForgotten, readHeld, type HolderChange } from "../../grants/holders.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { leaveGroups, planLeaving } from "../groups/members.ts";

/**
 * The number of assignments that one transaction revokes. Each takes up to four of the hundred writes of a transaction.
 */
const revocationsPerTransaction = 20;

/** How many grants and groups one transaction removes together with the service account itself. */
const [fewGrants, fewGroups] = [12, 4];

/**
 * Plans the revocation of all permissions of a service account, its removal from its groups, and the deletion of its
 * record; undefined if this does not fit into one transaction.
 */
export async function planPurge(
  table: Reader,
  accountId: string,
  id: string,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] } | undefined> {
  const subject = { type: "service_account" as const, id };
  const held = await readHeld(table, accountId, subject);
  if (!held) return { writes: [], changes: [] };
  const { grants, groups, owner_grant_id } = held;
  if (grants.length > fewGrants || groups.length > fewGroups) return undefined;
  const ids = [...grants.map((grant) => grant.id), ...(owner_grant_id === undefined ? [] : [owner_grant_id])];
  const [left, assignments] = await Promise.all([
    planLeaving(table, accountId, subject, groups),
    getAssignments(table, accountId, ids),
  ]);
  const forgotten: HolderChange = { subject, change: left.holder, forget: true };
  const revoked = await planRevocation(table, accountId, assignments, now, [forgotten]);
  const { SK } = accessKey(accountId, subject);
  // Its grants were read twice. If it got another grant in between, this plan would not remove everything.
  if (!revoked.writes.some((write) => "delete" in write && write.delete.SK === SK)) return undefined;
  return { writes: [...left.writes, ...revoked.writes], changes: [...left.changes, ...revoked.changes] };
}

/**
 * Revokes all permissions of a service account, removes it from its groups and deletes its record, in several
 * transactions. Its tokens are invalid already, so the remaining grants give no access.
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
      const some = await getAssignments(table, accountId, ids.slice(0, revocationsPerTransaction));
      if (some.length > 0) return { value: false, ...(await planRevocation(table, accountId, some, now())) };
      const writes = await planForgotten(table, accountId, subject);
      return { value: writes.length > 0, writes, changes: [], housekeeping: true };
    });
    const held = isForgotten ? undefined : await readHeld(table, accountId, subject);
    // Groups are left last, when the record is short, because leaving one rewrites it.
    if (held?.grants.length === 0) await leaveGroups({ table, commit }, accountId, subject, held.groups);
  }
}
