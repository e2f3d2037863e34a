import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import type { SoaOwner } from "../providers/dns/dns.ts";
import { dueKey, dueWrite, type Queue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * The zone of a domain is a copy of its records on the nameservers. A change of records notes the changed RRsets here,
 * and the process with the lease then writes them into the zone.
 *
 * Access patterns
 *   the zone of a domain            ACCOUNT#<id> / ZONE#<domain id>
 *   zones that are behind, by time  shared/table/due.ts, queue ZONE_DUE
 */
export const zoneKey = (accountId: string, domainId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ZONE#${domainId}`,
});
export const zoneQueue: Queue = { name: "ZONE_DUE", shards: 16 };

/** The most changed RRsets that are recorded one by one, by name and type. More are recorded as `everything`. */
const dirtyLimit = 200;
export const everything = "*";

export const StoredZone = z.object({
  account_id: z.string(),
  domain_id: z.string(),
  name: z.string(),
  nameservers: z.array(z.string()),
  /** Whether the nameservers should have the zone: true only once the domain is delegated to them. */
  wanted: z.boolean(),
  /** The reference by which the provider tells this zone from others; the domain's id when absent. */
  reference: z.string().optional(),
  /** The provider's id of the zone; absent until the zone is created there. */
  zone_id: z.string().optional(),
  /** The number of changes to the records. The zone has all changes up to `synced_revision`. */
  revision: z.int(),
  synced_revision: z.int(),
  /** The serial of its SOA at this revision. A zone that was stored without it has the serial 1 at the nameservers. */
  serial: z.int().min(0).default(1),
  /** `<name> <type>` of the RRsets that changed since the zone was last brought up to date. */
  dirty: z.array(z.string()),
  /** `<name> <type>` of the RRsets that the zone has or may have. A sync of `everything` compares all of these. */
  held: z.array(z.string()),
  /** `<name> <type>` of the RRsets with a record that the provider cannot hold. */
  refused: z.array(z.string()).default([]),
  /** A change that the provider has accepted, but that not all its servers have. */
  change: z.object({ id: z.string(), revision: z.int() }).optional(),
  due_at: Timestamp.nullable(),
  /** The process that is syncing the zone, and the time until which it may. */
  lease_owner: z.string(),
  lease_until: z.string(),
});
export type StoredZone = z.output<typeof StoredZone>;

/** The zone of a new domain, before any nameserver has it. */
export const newZone = (
  accountId: string,
  domain: { id: string; name: string; nameservers: string[] },
): { write: Write; zone: StoredZone } => {
  const zone: StoredZone = {
    account_id: accountId,
    domain_id: domain.id,
    name: domain.name,
    nameservers: domain.nameservers,
    wanted: false,
    revision: 0,
    synced_revision: 0,
    serial: 1,
    dirty: [],
    held: [],
    refused: [],
    due_at: null,
    lease_owner: "",
    lease_until: "",
  };
  return { zone, write: { put: { ...zoneKey(accountId, domain.id), ...zone }, if: "absent" } };
};

export const getZone = (table: Reader, accountId: string, domainId: string): Promise<StoredZone | undefined> =>
  table.get(zoneKey(accountId, domainId), StoredZone);

const serials = 2 ** 32;

/**
 * The serial after this one (RFC 1982): the time in seconds if it is greater, so that a zone which is made again does
 * not go back; otherwise the next number.
 */
export function nextSerial(serial: number, now: Date): number {
  const time = Math.floor(now.getTime() / 1_000) % serials;
  const ahead = (time - serial + serials) % serials;
  return ahead > 0 && ahead < serials / 2 ? time : (serial + 1) % serials;
}

/** The members of a zone of which its SOA and the NS RRset at its apex are made. */
export type ZoneHead = Pick<StoredZone, "name" | "nameservers" | "serial">;

/** The members of a zone's SOA. */
export const soaOwner = ({ name, nameservers, serial }: ZoneHead): SoaOwner => ({
  zone: name,
  nameserver: nameservers[0] ?? name,
  serial,
});

/** The name of an RRset as `dirty` and `held` have it. */
export const rrsetName = ({ name, type }: { name: string; type: string }): string => `${name} ${type}`;

/** How long the request that changed the records has the zone to itself, before the worker takes over. */
const renewalGraceMs = 60_000;

/**
 * The writes that record which RRsets changed. They fail when other records changed since the zone was read. `wanted`
 * says whether the nameservers should have the zone after this transaction.
 */
export function noteChanges(
  zone: StoredZone,
  changed: readonly { name: string; type: string }[],
  now: Date,
  wanted: boolean = zone.wanted,
): Write[] {
  const names = [...new Set([...zone.dirty, ...changed.map(rrsetName)])];
  const isAll = names.length > dirtyLimit || names.includes(everything);
  // An RRset that was noted one by one may be in the zone: the answer to the change that wrote it may have been lost.
  const held = isAll && !names.includes(everything) ? [...new Set([...zone.held, ...names])] : zone.held;
  const place = [zone.account_id, zone.domain_id] as const;
  const isDue = wanted && zone.due_at === null;
  const dueAt = isDue ? new Date(now.getTime() + renewalGraceMs).toISOString() : zone.due_at;
  return [
    {
      update: zoneKey(zone.account_id, zone.domain_id),
      set: {
        revision: zone.revision + 1,
        serial: nextSerial(zone.serial, now),
        dirty: isAll ? [everything] : names,
        ...(held === zone.held ? {} : { held }),
        wanted,
        due_at: dueAt,
      },
      if: { revision: zone.revision, wanted: zone.wanted },
    },
    ...(isDue && dueAt !== null ? [dueWrite(zoneQueue, place, dueAt)] : []),
  ];
}

/** The key of a zone in the queue of zones that are behind. */
export const zoneDueKey = ({ account_id, domain_id }: Pick<StoredZone, "account_id" | "domain_id">, at: string): Key =>
  dueKey(zoneQueue, [account_id, domain_id], at);

/** Whether the nameservers have all changes up to a revision. */
export const hasRevision = ({ wanted, zone_id, synced_revision }: StoredZone, revision: number): boolean =>
  wanted && zone_id !== undefined && synced_revision >= revision;
