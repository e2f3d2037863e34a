import type { Reader } from "../../table/table.ts";
import { hasRevision, StoredZone, zoneKey } from "../zone.ts";
import type { DnsRecord, StoredRecord } from "./stored-record.ts";

/** A record as its readers see it. */
export function recordView(record: StoredRecord, zone: StoredZone | undefined): DnsRecord {
  const { account_id: _, domain_id: __, zone_revision, version: ___, ...shown } = record;
  const isRefused = zone?.refused.includes(`${record.name} ${record.type}`) ?? false;
  const isHad = zone !== undefined && hasRevision(zone, zone_revision) && !isRefused;
  return { ...shown, zone_status: isHad ? "in_sync" : "pending" };
}

/** Records of one account as their readers see them; one more round trip, for the zones they are in. */
export async function recordViews(
  table: Reader,
  accountId: string,
  records: readonly StoredRecord[],
): Promise<DnsRecord[]> {
  const ids = [...new Set(records.map(({ domain_id }) => domain_id))];
  const rows = await table.getMany(ids.map((id) => zoneKey(accountId, id)));
  const zones = new Map(
    rows.flatMap((row) => (row ? [StoredZone.parse(row)] : [])).map((zone) => [zone.domain_id, zone]),
  );
  return records.map((record) => recordView(record, zones.get(record.domain_id)));
}
