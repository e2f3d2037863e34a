import { ipById } from "../dedicated-ips/dedicated-ip.ts";
import { parsedOf, planUpdated } from "../dns-records/plan.ts";
import { isSpf } from "../dns-records/spf.ts";
import { recordsIn } from "../dns-records/stored-record.ts";
import type { Reader } from "../table/table.ts";
import { getZone } from "../zones/zone.ts";
import type { StoredDomain } from "./domain.ts";
import { spfRecord } from "./system-records.ts";
import type { Planned } from "./work.ts";

/** The addresses that a domain sends from beside the shared ones: those of its dedicated IP. */
export async function sendersOf(
  table: Reader,
  { account_id, dedicated_ip_id }: Pick<StoredDomain, "account_id" | "dedicated_ip_id">,
): Promise<string[]> {
  if (dedicated_ip_id === null) return [];
  const ip = await ipById(table, account_id, dedicated_ip_id);
  return (ip?.addresses ?? []).map((address) => address.ip);
}

/** The SPF record, where there is one, as the dedicated IP of the domain has it. */
export async function planSpf(table: Reader, domain: StoredDomain, now: Date): Promise<Planned> {
  const { account_id, id } = domain;
  const [senders, records, zone] = await Promise.all([
    sendersOf(table, domain),
    recordsIn(table, account_id, id, "@", "TXT"),
    getZone(table, account_id, id),
  ]);
  const own = records.find(({ is_system_managed, value }) => is_system_managed && isSpf(value));
  const { value } = spfRecord(senders);
  if (!own || !zone || own.value === value) return { writes: [], changes: [] };
  return planUpdated(zone, [{ before: own, after: { ...parsedOf(own), value } }], now);
}
