import { change, type Change } from "../changes/kind.ts";
import { type Author, systemAuthor } from "../changes/record.ts";
import { type ChangePlan, type Writer, writerOf } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Resolver } from "../dns/answer.ts";
import type { Context } from "../http/route.ts";
import { MovementConflict } from "../ledger/movement.ts";
import { moveDue } from "../table/due.ts";
import type { Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { type DedicatedIp, ipById, ipKey, ipKind, ipQueue, type IpVerb, type StoredIp } from "./dedicated-ip.ts";
import { ipView, ipViewFor } from "./view.ts";

/** The services of the workers for dedicated IPs. */
export type IpContext = { table: Table; now: () => Date; log: Log; resolver: Resolver };

/** The author of changes of dedicated IPs without a caller. */
export const ipAuthor = (): Author => systemAuthor("dedicated IP", "dedicated_ips");

/** The writer for scheduled work. The author of its changes is the product itself. */
export const systemContext = (work: Pick<IpContext, "table" | "now">, accountId: string): Writer =>
  writerOf(work, accountId, ipAuthor());

/** The members of a dedicated IP to change; undefined removes a member. */
export type ChangedMembers = { [M in keyof Omit<StoredIp, "id" | "account_id" | "version">]?: StoredIp[M] | undefined };

/**
 * The writes that change a dedicated IP, and move its task in the queue to the new `due_at`. The writes fail if the
 * dedicated IP has changed since it was read.
 */
export function ipUpdate(ip: StoredIp, members: ChangedMembers): { after: StoredIp; writes: Write[] } {
  const { id, account_id, version } = ip;
  const merged = Object.entries({ ...ip, ...members, version: version + 1 });
  const after = Object.fromEntries(merged.filter(([, value]) => value !== undefined)) as StoredIp;
  return {
    after,
    writes: [
      { put: { ...ipKey(account_id, id), ...after }, if: { id, version } },
      ...moveDue(ipQueue, [account_id, id], ip.due_at, after.due_at),
    ],
  };
}

/** The change of a dedicated IP to record. */
export const ipChange = (verb: IpVerb, before: StoredIp, after: StoredIp): Change =>
  change(ipKind, verb, before.id, { before: ipView(before), after: ipView(after) });

/** Renames a dedicated IP. Throws 404 if there is no such dedicated IP. */
export function renameIp(accountId: string, id: string, name: string, context: Context): Promise<DedicatedIp> {
  const { table, commit, now } = context;
  return commit(async () => {
    const ip = await ipById(table, accountId, id);
    if (!ip) throw notFound();
    const current = ipViewFor(ip, context);
    if (ip.name === name) return { value: current, writes: [], changes: [], current };
    const { after, writes } = ipUpdate(ip, { name, updated_at: now().toISOString() });
    return { value: ipViewFor(after, context), writes, changes: [ipChange("updated", ip, after)] };
  });
}

const maxTries = 5;

/**
 * Runs a plan that resolves a hold on money in the wallet. If another process has resolved the hold since the dedicated
 * IP was read, runs the plan again, five times in all at most. The hold and the dedicated IP change in one transaction,
 * so the next run sees both changes.
 */
export async function retryOnConflict<T>(plan: () => Promise<ChangePlan<T>>): Promise<ChangePlan<T>> {
  for (let tries = 1; ; tries++) {
    try {
      return await plan();
    } catch (error) {
      if (!(error instanceof MovementConflict) || tries >= maxTries) throw error;
    }
  }
}
