import { hash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { RecordType, type RRset } from "../../dns/rrset.ts";
import type { Table } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { apexTtlSeconds, ZoneExists, type Dns, type SoaOwner, type ZoneChange } from "./dns.ts";

/*
 * The RRsets of a zone are in 64 buckets, by a hash of their owner name. A transaction has 100 writes at most. So one
 * transaction can make any change of a zone, or remove the zone.
 *
 * Access patterns
 *   a zone by its name                ZONE#<name> / ZONE
 *   the bucket of an owner name       ZONE#<zone's name> / RRSETS#<00 to 63>
 *   a zone with all its RRsets        ZONE#<name> / RRSETS#00 to ZONE
 *   the zones that can hold a name    ZONE#<the name or a parent of it> / ZONE
 */
const partition = (name: string): string => `ZONE#${name}`;
const zoneKey = (name: string): Key => ({ PK: partition(name), SK: "ZONE" });
const buckets = 64;
const bucketKey = (zone: string, bucket: number): Key => ({
  PK: partition(zone),
  SK: `RRSETS#${String(bucket).padStart(2, "0")}`,
});
const bucketOf = (owner: string): number => hash("sha256", owner, "buffer").readUInt8(0) % buckets;

const Zone = z.object({
  name: z.string(),
  zone_id: z.string(),
  reference: z.string(),
  serial: z.int().min(0).default(1),
});

const StoredData = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["A", "AAAA"]), address: z.string() }),
  z.object({ type: z.enum(["CNAME", "NS"]), host: z.string() }),
  z.object({ type: z.literal("MX"), priority: z.int(), host: z.string() }),
  z.object({ type: z.literal("TXT"), text: z.string() }),
  z.object({ type: z.literal("SRV"), priority: z.int(), weight: z.int(), port: z.int(), host: z.string() }),
  z.object({ type: z.literal("CAA"), flags: z.int(), tag: z.string(), value: z.string() }),
  z.object({ type: z.enum(["TLSA", "SSHFP"]), value: z.string() }),
  z.object({ type: z.enum(["HTTPS", "SVCB"]), priority: z.int(), host: z.string(), params: z.string() }),
]);
const StoredRRset = z.object({ name: z.string(), type: RecordType, ttl: z.int(), data: z.array(StoredData) });
const Bucket = z.object({ version: z.int(), rrsets: z.array(StoredRRset) });

/** The name in a zone id. The id has a random suffix, so that a later zone of the name has another id. */
const zoneName = (zoneId: string): string => zoneId.slice(0, Math.max(0, zoneId.lastIndexOf(":")));

const ownerOf = (change: ZoneChange): { name: string; type: RecordType } =>
  "put" in change ? change.put : change.remove;

function applied(rrsets: readonly RRset[], change: ZoneChange): RRset[] {
  const { name, type } = ownerOf(change);
  const place = rrsets.findIndex((one) => one.name === name && one.type === type);
  if ("put" in change) return place < 0 ? [...rrsets, change.put] : rrsets.with(place, change.put);
  return rrsets.filter((_, index) => index !== place);
}

/**
 * Throws for three kinds of changes that Route 53 would refuse: a name outside the zone, the removal of the NS records
 * at the apex, and other records beside a CNAME.
 */
function requireValid(zone: string, changes: readonly ZoneChange[], after: readonly RRset[]): void {
  for (const change of changes) {
    const { name, type } = ownerOf(change);
    if (name !== zone && !name.endsWith(`.${zone}`)) throw new Error(`${name} is not in the zone ${zone}.`);
    if ("remove" in change && name === zone && type === "NS")
      throw new Error("The nameserver records of a zone cannot be removed.");
    const types = after.filter((rrset) => rrset.name === name).map((rrset) => rrset.type);
    if (types.includes("CNAME") && types.length > 1)
      throw new Error(`${name} has a CNAME record, so it can have no other records.`);
  }
}

/** The writes that make changes in a zone. An item that does not change is not written. */
async function planChanges(table: Table, zone: string, changes: readonly ZoneChange[]): Promise<Write[]> {
  const byBucket = Map.groupBy(changes, (change) => bucketOf(ownerOf(change).name));
  const keys = [...byBucket.keys()].map((bucket) => bucketKey(zone, bucket));
  const items = await table.getMany(keys);
  return [...byBucket.values()].flatMap((own, index): Write[] => {
    const [key, item] = [keys[index], items[index]];
    if (!key) return [];
    const { version, rrsets } = item ? Bucket.parse(item) : { version: 0, rrsets: [] };
    const after = own.reduce<RRset[]>(applied, rrsets);
    requireValid(zone, own, after);
    if (isDeepStrictEqual(after, rrsets)) return [];
    return [{ put: { ...key, version: version + 1, rrsets: after }, if: item ? { version } : "absent" }];
  });
}

const done = { changeId: "embedded", isInSync: true };

function createZone(table: Table, { name, reference, nameservers }: Parameters<Dns["createZone"]>[0]) {
  const apex: RRset = {
    name,
    type: "NS",
    ttl: apexTtlSeconds,
    data: nameservers.map((host) => ({ type: "NS", host })),
  };
  return table.commit(async () => {
    const known = await table.get(zoneKey(name), Zone);
    if (known && known.reference !== reference) throw new ZoneExists(`Another zone of ${name} exists.`);
    const zoneId = known?.zone_id ?? `${name}:${randomBytes(8).toString("hex")}`;
    const zone: Write = known
      ? { check: zoneKey(name), if: { zone_id: zoneId } }
      : { put: { ...zoneKey(name), name, zone_id: zoneId, reference }, if: "absent" };
    return { writes: [zone, ...(await planChanges(table, name, [{ put: apex }]))], value: { zoneId } };
  });
}

function changeZone(table: Table, zoneId: string, changes: readonly ZoneChange[], soa?: SoaOwner) {
  const name = zoneName(zoneId);
  return table.commit(async () => {
    const zone = await table.get(zoneKey(name), Zone);
    if (zone?.zone_id !== zoneId) throw new Error("The zone does not exist.");
    const writes = await planChanges(table, name, changes);
    const { serial } = soa ?? zone;
    const own = { update: zoneKey(name), set: { serial }, if: { zone_id: zoneId } };
    const isChanged = writes.length > 0 || serial !== zone.serial;
    return { writes: isChanged ? [own, ...writes] : [], value: done };
  });
}

function deleteZone(table: Table, zoneId: string): Promise<void> {
  const name = zoneName(zoneId);
  return table.commit(async () => {
    const zone = await table.get(zoneKey(name), Zone);
    if (zone?.zone_id !== zoneId) return { writes: [], value: undefined };
    // Even items that do not exist are deleted, because another request may create an item before this transaction
    // commits.
    const all = Array.from({ length: buckets }, (_, bucket): Write => ({ delete: bucketKey(name, bucket) }));
    return { writes: [{ delete: zoneKey(name), if: { zone_id: zoneId } }, ...all], value: undefined };
  });
}

/**
 * Keeps zones in the table. A nameserver on this machine answers from these zones, so every change is in sync at once.
 */
export const embeddedDns = (table: Table): Dns => ({
  createZone: (input) => createZone(table, input),
  changeZone: (zoneId, changes, soa) => changeZone(table, zoneId, changes, soa),
  isInSync: async () => true,
  deleteZone: (zoneId) => deleteZone(table, zoneId),
});

/**
 * The closest zone that contains a name, with the serial of its SOA. `rrsets` are all RRsets of the zone, including the
 * NS at its apex. The name is in lower case, without a dot at the end. Undefined when there is no such zone.
 */
export async function zoneAt(
  table: Table,
  name: string,
): Promise<{ name: string; serial: number; rrsets: RRset[] } | undefined> {
  const labels = name.split(".");
  const candidates = labels.map((_, index) => labels.slice(index).join("."));
  const found = await table.getMany(candidates.map(zoneKey));
  for (const zone of candidates.filter((_, index) => found[index])) {
    const items = await table.between(partition(zone), bucketKey(zone, 0).SK, zoneKey(zone).SK);
    // The zone's own item is last; when it is missing, the zone was deleted since the first read.
    const last = items.at(-1);
    if (last?.SK !== zoneKey(zone).SK) continue;
    return {
      name: zone,
      serial: Zone.parse(last).serial,
      rrsets: items.slice(0, -1).flatMap((item) => Bucket.parse(item).rrsets),
    };
  }
  return undefined;
}
