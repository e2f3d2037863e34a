import * as z from "zod";

import { RecordType } from "../../../shared/dns/rrset.ts";
import { nameAndAncestors } from "../../../shared/dns/wire-name.ts";
import { type ParsedRecord, rrsetsOf } from "../../../shared/domains/records/record.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Key } from "../../../shared/table/writes.ts";
import type { DnsZone } from "./authority.ts";

/*
 * The zones of another DNS host, which the product does not control.
 *
 * Access patterns
 *   the records of a name at the other host    REGISTRY#<name> / RECORDS
 */
const recordsKey = (name: string): Key => ({ PK: `REGISTRY#${name}`, SK: "RECORDS" });

/** The suffix of the nameservers of the other DNS host. */
export const externalSuffix = "other-dns.example";
export const externalNameservers = [`ns1.${externalSuffix}`, `ns2.${externalSuffix}`];

const StoredRecord = z.object({
  name: z.string(),
  type: RecordType,
  value: z.string(),
  ttl: z.int(),
  priority: z.int().exactOptional(),
  weight: z.int().exactOptional(),
  port: z.int().exactOptional(),
  flags: z.int().exactOptional(),
  tag: z.string().exactOptional(),
});
const StoredRecords = z.object({ records: z.array(StoredRecord) });

/** Replaces the records of a name at the other host. */
export async function publishRecords(table: Table, name: string, records: readonly ParsedRecord[]): Promise<void> {
  await table.attempt({ put: { ...recordsKey(name), records } });
}

/** The zone at the other host that encloses a name. Undefined if there is no such zone. */
export async function externalZoneAt(table: Table, name: string): Promise<DnsZone | undefined> {
  for (const apex of nameAndAncestors(name).toReversed()) {
    const stored = await table.get(recordsKey(apex), StoredRecords);
    if (!stored) continue;
    const data = externalNameservers.map((host) => ({ type: "NS" as const, host }));
    return { name: apex, rrsets: [{ name: apex, type: "NS", ttl: 3_600, data }, ...rrsetsOf(stored.records, apex)] };
  }
  return undefined;
}
