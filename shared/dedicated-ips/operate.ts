import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import { ipUpdate, ipChange, systemContext } from "./change.ts";
import { accountLimit, type DedicatedIp, StoredIp, ipById, ipsOf, notReady } from "./dedicated-ip.ts";
import { ipView } from "./view.ts";

type IpRef = { accountId: string; id: string };

async function currentIp(table: Table, { accountId, id }: IpRef): Promise<StoredIp> {
  const ip = await ipById(table, accountId, id);
  if (!ip) throw notFound();
  return ip;
}

/**
 * Suspends a dedicated IP. No mail leaves from the dedicated IP until it is resumed. Changes nothing if the dedicated
 * IP is suspended already. Throws 404 if there is no such dedicated IP, and 409 `ip_not_ready` if it is `provisioning`.
 */
export function suspendIp(table: Table, ref: IpRef, reason: string | null, now: Date): Promise<DedicatedIp> {
  return operatorCommit(
    table,
    ref.accountId,
    "ip suspend",
    now,
  )(async () => {
    const ip = await currentIp(table, ref);
    if (ip.status === "provisioning") throw notReady(ip.status, `${ip.name} is provisioning. Wait until it is active.`);
    if (ip.status === "suspended") return { value: ipView(ip), writes: [], changes: [] };
    const { after, writes } = ipUpdate(ip, {
      status: "suspended",
      status_reason: reason,
      suspended_from: ip.status,
      due_at: null,
      updated_at: now.toISOString(),
    });
    return { value: ipView(after), writes, changes: [ipChange("suspended", ip, after)] };
  });
}

/**
 * Gives a suspended dedicated IP the status in `suspended_from`, and schedules a check unless this status is
 * `pending_authorization`. Throws 404 if there is no such dedicated IP, and 409 `ip_not_ready` if it is not suspended.
 */
export function resumeIp(table: Table, ref: IpRef, now: Date): Promise<DedicatedIp> {
  return operatorCommit(
    table,
    ref.accountId,
    "ip resume",
    now,
  )(async () => {
    const ip = await currentIp(table, ref);
    const { suspended_from: status } = ip;
    if (ip.status !== "suspended" || status === undefined) throw notReady(ip.status, `${ip.name} is not suspended.`);
    const { after, writes } = ipUpdate(ip, {
      status,
      status_reason: null,
      suspended_from: undefined,
      due_at: status === "pending_authorization" ? null : now.toISOString(),
      updated_at: now.toISOString(),
    });
    return { value: ipView(after), writes, changes: [ipChange("resumed", ip, after)] };
  });
}

/**
 * Makes all managed dedicated IPs of a closed account due, also suspended ones. So the next run of the worker takes
 * them back (`advanceIp`).
 */
export async function takeBackSoon(accountId: string, table: Table, at: Date): Promise<void> {
  const { rows } = await readRows(table, ipsOf(accountId), { skip: 0, take: accountLimit });
  const managed = rows.map((row) => StoredIp.parse(row)).filter(({ type }) => type === "managed");
  const { commit } = systemContext({ table, now: () => at }, accountId);
  const due_at = at.toISOString();
  for (const { id } of managed) {
    await commit(async () => {
      const ip = await ipById(table, accountId, id);
      const isGoneOrDue = !ip || (ip.due_at !== null && ip.due_at <= due_at);
      return {
        value: undefined,
        writes: isGoneOrDue ? [] : ipUpdate(ip, { due_at }).writes,
        changes: [],
        housekeeping: true,
      };
    });
  }
}
