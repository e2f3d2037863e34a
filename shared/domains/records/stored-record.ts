import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Timestamp } from "../../core/time.ts";
import { RecordType } from "../../dns/rrset.ts";
import { type List, rowKey } from "../../table/ranked-list.ts";
import type { Range } from "../../table/reads.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { StoredZone, hasRevision, zoneKey } from "../zone.ts";

/*
 * A record is stored twice:
 * - in the list of its account, at the place that the record's id gives;
 * - among the records of its domain, by name and type. There, the records of one name are read together.
 *
 * Access patterns
 *   records of an account, oldest first, and one by its id    ACCOUNT#<id> / LIST#dns_records
 *   records of a domain, by name and type, or of one name     ACCOUNT#<id> / RECORD#<domain id>#<name>#<type>#<id>
 */
export const recordsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "dns_records" });

/** The key of the record with this id in the list of its account. */
export const recordKey = (accountId: string, id: number): Key => rowKey(recordsOf(accountId), id - 1);

/** The key of a domain's record, or the beginning of the keys of the domain's records with this name and type. */
const ofDomain = (accountId: string, domainId: string, ...rest: string[]): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: ["RECORD", domainId, ...rest].join("#"),
});

/** The key of a record among the records of its domain. */
export const recordPlaceKey = (record: Pick<StoredRecord, "account_id" | "domain_id" | "name" | "type" | "id">): Key =>
  ofDomain(record.account_id, record.domain_id, record.name, record.type, String(record.id).padStart(10, "0"));

/** How many records a domain can have. */
export const recordLimit = 1_000;

/** The largest id of a record: the largest signed integer of 32 bits. */
export const largestId = 2 ** 31 - 1;

export const DnsRecord = z
  .object({
    id: z.int().min(1).max(largestId).meta({ description: "The record's id: an integer, unique in the account." }),
    domain: z.string().meta({ description: "The name of the record's domain." }),
    name: z.string().meta({
      description: "The record's name in the domain: `@` is the domain itself, `*` is any name that has no records.",
    }),
    type: RecordType.meta({ description: "The record's type." }),
    value: z.string().meta({ description: "The record's value, in its normal form." }),
    ttl: z.int().meta({ description: "How long resolvers keep the record, in seconds." }),
    priority: z
      .int()
      .nullable()
      .meta({ description: "The priority of an MX, SRV, HTTPS or SVCB record. The lowest is tried first." }),
    weight: z
      .int()
      .nullable()
      .meta({ description: "The share of an SRV record among the SRV records of the same priority." }),
    port: z.int().nullable().meta({ description: "The port of the service of an SRV record." }),
    flags: z.int().nullable().meta({ description: "The flags of a CAA record. 128 is critical." }),
    tag: z.string().nullable().meta({ description: "The property of a CAA record." }),
    is_system_managed: z.boolean().meta({
      description: "Whether the domain's settings manage the record. Such a record changes only with these settings.",
    }),
    zone_status: z.enum(["in_sync", "pending"]).meta({
      description:
        "`in_sync` if the nameservers have the record, `pending` if they do not have it yet. A domain's records are served once the domain is delegated to us.",
    }),
    created_at: Timestamp.meta({ description: "When the record was created." }),
    updated_at: Timestamp.meta({ description: "When the record last changed." }),
  })
  .meta({ id: "DnsRecord", description: "A DNS record of a domain." });
export type DnsRecord = z.output<typeof DnsRecord>;

/**
 * The view of a record in events. It has no `zone_status`, because the nameservers get a record only after its event.
 */
const RecordView = DnsRecord.omit({ zone_status: true });

export const StoredRecord = RecordView.extend({
  account_id: z.string(),
  domain_id: z.string(),
  /** The revision of the zone that gave the record its present state. */
  zone_revision: z.int(),
  version: z.int(),
});
export type StoredRecord = z.output<typeof StoredRecord>;

/** The problems of a route that adds or changes a record. */
export const recordProblems = [
  "record_exists",
  "record_conflict",
  "below_delegation",
  "system_managed",
  "domain_not_ready",
  "dns_external",
  "limit_reached",
] as const;

export const recordKind = defineKind({
  name: "dns_record",
  verbs: ["created", "updated", "deleted"],
  view: RecordView,
  seenWith: "dns.view",
});

/** The record with this id; undefined if the account has none. */
export const recordById = (table: Reader, accountId: string, id: number): Promise<StoredRecord | undefined> =>
  table.get(recordKey(accountId, id), StoredRecord);

/**
 * The records of a domain, ordered by name and type: all records, the records of one name, or the records of one name
 * and type.
 */
export async function recordsIn(
  table: Reader,
  accountId: string,
  domainId: string,
  ...only: [] | [name: string] | [name: string, type: string]
): Promise<StoredRecord[]> {
  const { PK, SK } = ofDomain(accountId, domainId, ...only);
  const rows = await table.between(PK, `${SK}#`, `${SK}#~`);
  return rows.map((row) => StoredRecord.parse(row));
}

/** The range of the records that `recordsIn` reads. */
export function recordsRange(
  accountId: string,
  domainId: string,
  ...only: [] | [name: string] | [name: string, type: string]
): Range {
  const { PK, SK } = ofDomain(accountId, domainId, ...only);
  return { partition: PK, from: `${SK}#`, to: `${SK}#~` };
}

/** The API view of a record. */
export function recordView(record: StoredRecord, zone: StoredZone | undefined): DnsRecord {
  const { account_id: _, domain_id: __, zone_revision, version: ___, ...shown } = record;
  const isRefused = zone?.refused.includes(`${record.name} ${record.type}`) ?? false;
  const isServed = zone !== undefined && hasRevision(zone, zone_revision) && !isRefused;
  return { ...shown, zone_status: isServed ? "in_sync" : "pending" };
}

/** The API views of records of one account. Takes a round trip to the table, to read the zones of the records. */
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
