import { ordinalOf } from "../core/ids.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Planned } from "../domains/setup/work.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { type StoredIp, ipById, ipDomainKey, ipKey, ipQueue, ipsOf } from "./dedicated-ip.ts";
import { planLetGo } from "./holder.ts";
import { type GivenUp, giveUpWrites } from "./stock.ts";
import { ipChange } from "./work.ts";

/** The writes that take a dedicated IP away, provided it is as it was read; the address of a managed one is `state` then. */
export async function planRemoval(table: Reader, ip: StoredIp, state: GivenUp): Promise<Write[]> {
  const { account_id, id, type, version, due_at, addresses, option_id = "" } = ip;
  const ordinal = ordinalOf(id) ?? -1;
  const ips = addresses.map((address) => address.ip);
  const [list, held] = await Promise.all([
    readList(table, ipsOf(account_id), [ordinal]),
    type === "managed"
      ? ips.flatMap((one) => giveUpWrites({ ip: one, option_id }, ip, state))
      : planLetGo(table, ip, ips),
  ]);
  return [
    ...removeRows(list.state, [ordinal], { if: { id, version } }),
    ...held,
    ...(due_at === null ? [] : [{ delete: dueKey(ipQueue, [account_id, id], due_at) }]),
  ];
}

/** What takes the place of a domain that goes from its dedicated IP; one that is being assigned gets none any more. */
export async function planUnassigned(
  table: Reader,
  { account_id, id, dedicated_ip_id }: StoredDomain,
  now: Date,
): Promise<Planned> {
  if (dedicated_ip_id === null) return { writes: [], changes: [] };
  const place = ipDomainKey(account_id, dedicated_ip_id, id);
  const [[found], ip] = await Promise.all([table.getMany([place]), ipById(table, account_id, dedicated_ip_id)]);
  if (!found || !ip) return { writes: [{ check: place, if: "absent" }], changes: [] };
  const { version } = ip;
  const updated_at = now.toISOString();
  // What is below zero was not read at one moment, and fails the transaction.
  const after = { ...ip, domain_count: Math.max(0, ip.domain_count - 1), updated_at };
  return {
    writes: [
      { delete: place, if: "present" },
      {
        update: ipKey(account_id, ip.id),
        set: { updated_at },
        add: { domain_count: -1, version: 1 },
        if: { id: ip.id, version },
      },
    ],
    changes: [ipChange("domains_unassigned", ip, after)],
  };
}
