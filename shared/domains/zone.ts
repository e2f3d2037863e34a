import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import type { SoaOwner } from "../providers/dns/dns.ts";
import { dueKey, moveDue, type Queue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * The zone of a domain is a copy of the domain's records on the nameservers. A transaction that changes records also
 * notes the changed RRsets in a `StoredZone`. The process that holds the zone's lease then writes these RRsets into the
 * zone.
 *
 * Access patterns
 *   the zone of a domain                        ACCOUNT#<id> / ZONE#<domain id>
 *   zones that have to be synced, by due time   shared/table/due.ts, queue ZONE_DUE
 */
export const zoneKey = (accountId: string, domainId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ZONE#${domainId}`,
});
export const zoneQueue: Queue = { name: "ZONE_DUE", shards: 16 };

/**
 * How many changed RRsets are noted one by one, by name and type. If more RRsets have changed, `allRrsets` is noted
 * instead.
 */
const dirtyLimit = 200;
/** The member of `dirty` that stands for all RRsets of the zone. */
export const allRrsets = "*";

export const StoredZone = z.object({
  account_id: z.string(),
  domain_id: z.string(),
  name: z.string(),
  nameservers: z.array(z.string()),
  /**
   * Whether the nameservers should have the zone. False until the domain is active, after it is deleted or loses its
   * name, and after an external domain has left our nameservers.
   */
  wanted: z.boolean(),
  /** The reference with which the zone is created at the provider; the domain's id if absent. */
  reference: z.string().optional(),
  /** The provider's id of the zone; absent until the zone is created there. */
  zone_id: z.string().optional(),
  /** The number of changes to the records. The zone has all changes up to `synced_revision`. */
  revision: z.int(),
  synced_revision: z.int(),
  /** The serial of the zone's SOA at `revision`. A zone that was stored without a serial has the serial 1. */
  serial: z.int().min(0).default(1),
  /** `<name> <type>` of the RRsets that changed since the zone was last brought up to date. */
  dirty: z.array(z.string()),
  /**
   * `<name> <type>` of the RRsets that the zone has or may have. A sync of `allRrsets` writes the RRsets that have
   * records, and removes all others of this list.
   */
  held: z.array(z.string()),
  /** `<name> <type>` of the RRsets with a record that the provider cannot hold. */
  refused: z.array(z.string()).default([]),
  /** The last change that the provider accepted. Absent once all servers of the provider have the change. */
  change: z.object({ id: z.string(), revision: z.int() }).optional(),
  due_at: Timestamp.nullable(),
  /** The process that syncs the zone. Its lease ends at `lease_until`. */
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

/** The zone of a domain; undefined if there is none. */
export const getZone = (table: Reader, accountId: string, domainId: string): Promise<StoredZone | undefined> =>
  table.get(zoneKey(accountId, domainId), StoredZone);

/** How many serials there are: a serial has 32 bits. */
const serials = 2 ** 32;

/**
 * The next serial (RFC 1982): the time in seconds if that is greater than `serial`, otherwise the next number. With the
 * time, the serial of a zone that is deleted and created again does not go back.
 */
export function nextSerial(serial: number, now: Date): number {
  const time = Math.floor(now.getTime() / 1_000) % serials;
  const ahead = (time - serial + serials) % serials;
  return ahead > 0 && ahead < serials / 2 ? time : (serial + 1) % serials;
}

/** The members of a zone from which its SOA and the NS RRset at its apex are made. */
export type ZoneHead = Pick<StoredZone, "name" | "nameservers" | "serial">;

/** The `SoaOwner` of a zone: the members from which its SOA is made. */
export const soaOwner = ({ name, nameservers, serial }: ZoneHead): SoaOwner => ({
  zone: name,
  nameserver: nameservers[0] ?? name,
  serial,
});

/** The name and type of an RRset, as `dirty` and `held` have them. */
export const rrsetName = ({ name, type }: { name: string; type: string }): string => `${name} ${type}`;

/**
 * How long the worker waits after a change of records, in milliseconds, before it syncs the zone. In this time, the
 * request that made the change can sync the zone itself.
 */
const requestGraceMs = 60_000;

/**
 * The writes that note which RRsets changed, or that all RRsets have to be written again (`all`). The transaction fails
 * if other records changed since the zone was read. `wanted` says whether the nameservers should have the zone after
 * this transaction.
 */
export function noteChanges(
  zone: StoredZone,
  changed: readonly { name: string; type: string }[] | "all",
  now: Date,
  wanted: boolean = zone.wanted,
): Write[] {
  const names = [...new Set([...zone.dirty, ...(changed === "all" ? [] : changed.map(rrsetName))])];
  const isAll = changed === "all" || names.length > dirtyLimit || names.includes(allRrsets);
  // `*` replaces the names in `dirty`, so these names are added to `held`. The provider may already have their RRsets,
  // because its answer to a change may have been lost. A sync of `*` removes only RRsets that `held` names.
  const held = isAll && !names.includes(allRrsets) ? [...new Set([...zone.held, ...names])] : zone.held;
  const place = [zone.account_id, zone.domain_id] as const;
  // The worker deletes the queue entry of a zone that is not wanted, and leaves `due_at` as it is. So a zone that
  // becomes wanted gets a new entry.
  const isDue = wanted && (zone.due_at === null || !zone.wanted);
  const dueAt = isDue ? new Date(now.getTime() + requestGraceMs).toISOString() : zone.due_at;
  return [
    {
      update: zoneKey(zone.account_id, zone.domain_id),
      set: {
        revision: zone.revision + 1,
        serial: nextSerial(zone.serial, now),
        dirty: isAll ? [allRrsets] : names,
        ...(held === zone.held ? {} : { held }),
        wanted,
        due_at: dueAt,
      },
      // A sync may meanwhile have cleared `due_at` and deleted the queue entry, without raising the revision. So the
      // condition compares `due_at` too.
      if: { revision: zone.revision, wanted: zone.wanted, ...(zone.due_at === null ? {} : { due_at: zone.due_at }) },
    },
    ...(isDue ? moveDue(zoneQueue, place, zone.due_at, dueAt) : []),
  ];
}

/** The key of a zone in the queue of zones that have to be synced. */
export const zoneDueKey = ({ account_id, domain_id }: Pick<StoredZone, "account_id" | "domain_id">, at: string): Key =>
  dueKey(zoneQueue, [account_id, domain_id], at);

/** Whether the nameservers have all changes up to a revision. */
export const hasRevision = ({ wanted, zone_id, synced_revision }: StoredZone, revision: number): boolean =>
  wanted && zone_id !== undefined && synced_revision >= revision;
