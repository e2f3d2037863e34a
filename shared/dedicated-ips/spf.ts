import type { StoredDomain } from "../domains/domain.ts";
import { parsedOf, type RecordEdit } from "../domains/records/plan.ts";
import { isSpf } from "../domains/records/spf.ts";
import { recordsIn } from "../domains/records/stored-record.ts";
import { spfRecord } from "../domains/records/system-records.ts";
import { getZone } from "../domains/zone.ts";
import type { Reader } from "../table/table.ts";
import { ipById } from "./dedicated-ip.ts";

/** The addresses of a domain's dedicated IP, from which the domain sends besides the shared addresses. */
export async function sendersOf(
  table: Reader,
  { account_id, dedicated_ip_id }: Pick<StoredDomain, "account_id" | "dedicated_ip_id">,
): Promise<string[]> {
  if (dedicated_ip_id === null) return [];
  const ip = await ipById(table, account_id, dedicated_ip_id);
  return (ip?.addresses ?? []).map((address) => address.ip);
}

/**
 * The edits that put the addresses of a domain's dedicated IP into the SPF record of the domain. There are no edits if
 * the record is right already, or if the domain has no zone, or no SPF record of ours.
 */
export async function spfEdits(table: Reader, domain: StoredDomain): Promise<RecordEdit[]> {
  const { account_id, id } = domain;
  const [senders, records, zone] = await Promise.all([
    sendersOf(table, domain),
    recordsIn(table, account_id, id, "@", "TXT"),
    getZone(table, account_id, id),
  ]);
  const own = records.find(({ is_system_managed, value }) => is_system_managed && isSpf(value));
  const { value } = spfRecord(senders, domain.spf_includes);
  if (!own || !zone || own.value === value) return [];
  return [{ zone, updated: [{ before: own, after: { ...parsedOf(own), value } }] }];
}
