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

/** What moves dedicated IPs on: the DNS, and the table. */
export type IpWork = { table: Table; now: () => Date; log: Log; resolver: Resolver };

/** Who moves one dedicated IP on: somebody who asked for it, or nobody. */
export type Mover = { table: Reader; commit: Commit; now: () => Date };

/** The product itself, as the author of what happens by the clock. */
export const systemAuthor = (): Author => ({
  action: "system: dedicated IP",
  actor: { type: "system", id: "dedicated_ips" },
  requestId: randomUUID(),
});

/** The product itself, when it moves a dedicated IP on by the clock. */
export const systemMover = ({ table, now }: Pick<IpWork, "table" | "now">, accountId: string): Mover => ({
  table,
  now,
  commit: recorder({ table, accountId, author: systemAuthor(), now }),
});

/** What becomes of a dedicated IP's own members; undefined takes one away. */
export type Becoming = { [M in keyof Omit<StoredIp, "id" | "account_id" | "version">]?: StoredIp[M] | undefined };

/** The writes that make a dedicated IP another one, provided it is as it was read, and have it looked at when it says. */
export function becoming(ip: StoredIp, members: Becoming): { after: StoredIp; writes: Write[] } {
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

/** The change of a dedicated IP, as it is recorded. */
export const ipChange = (verb: IpVerb, before: StoredIp, after: StoredIp): Change =>
  change(ipKind, verb, before.id, { before: ipView(before), after: ipView(after) });

export const later = (now: Date, ms: number): string => new Date(now.getTime() + ms).toISOString();

const maxTries = 5;

/**
 * Plans with a hold that somebody else may have resolved since its dedicated IP was read. Both are of one transaction:
 * who reads again sees both.
 */
export async function planAfresh<T>(plan: () => Promise<ChangePlan<T>>): Promise<ChangePlan<T>> {
  for (let tries = 1; ; tries++) {
    try {
      return await plan();
    } catch (error) {
      if (!(error instanceof MovementConflict) || tries >= maxTries) throw error;
    }
  }
}
