import { ordinalOf } from "../core/ids.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { ipsOf, type StoredIp } from "./dedicated-ip.ts";
import { planLetGo } from "./holder.ts";
import { ipQueue } from "./queues.ts";
import { giveUpWrites, type GivenUp } from "./stock.ts";

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
