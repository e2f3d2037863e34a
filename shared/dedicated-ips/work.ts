import { randomUUID } from "node:crypto";

import { change, type Change } from "../changes/kind.ts";
import type { Author } from "../changes/record.ts";
import { recorder, type ChangePlan, type Commit } from "../changes/recorder.ts";
import type { Log } from "../core/log.ts";
import type { Resolver } from "../dns/answer.ts";
import { MovementConflict } from "../ledger/movement.ts";
import { moveDue } from "../table/due.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { ipKey, ipKind, ipQueue, type IpVerb, type StoredIp } from "./dedicated-ip.ts";
import { ipView } from "./view.ts";

/** The tools of the work on dedicated IPs, such as the DNS resolver and the table. */
export type IpWork = { table: Table; now: () => Date; log: Log; resolver: Resolver };

/** The tools for changing one dedicated IP, on behalf of a caller or of the system. */
export type Mover = { table: Reader; commit: Commit; now: () => Date };

/** The system as the author of changes that happen by schedule. */
export const systemAuthor = (): Author => ({
  action: "system: dedicated IP",
  actor: { type: "system", id: "dedicated_ips" },
  requestId: randomUUID(),
});

/** The tools for changing a dedicated IP by schedule, on behalf of the system. */
export const systemMover = ({ table, now }: Pick<IpWork, "table" | "now">, accountId: string): Mover => ({
  table,
  now,
  commit: recorder({ table, accountId, author: systemAuthor(), now }),
});

/** The members of a dedicated IP to change; undefined removes a member. */
export type ChangedMembers = { [M in keyof Omit<StoredIp, "id" | "account_id" | "version">]?: StoredIp[M] | undefined };

/**
 * The writes that change a dedicated IP, provided it is unchanged since it was read, and move its next check to
 * `due_at`.
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

/** The recorded change of a dedicated IP. */
export const ipChange = (verb: IpVerb, before: StoredIp, after: StoredIp): Change =>
  change(ipKind, verb, before.id, { before: ipView(before), after: ipView(after) });

const maxTries = 5;

/**
 * Runs a plan that uses a hold. If another process has resolved the hold since the dedicated IP was read, it runs the
 * plan again. The hold and the dedicated IP change in one transaction, so the second run sees both changes.
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
