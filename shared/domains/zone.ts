import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import { dueKey, dueWrite, type Queue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * What of a domain's records the nameservers have. The records are ours to keep; the zone follows them: whoever
 * changes records notes here which RRsets changed, and whoever has the lease brings those into the zone.
 *
 * Access patterns
 *   the zone of a domain            ACCOUNT#<id> / ZONE#<domain id>
 *   zones that are behind, by time  due.ts, queue ZONE_DUE
 */
export const zoneKey = (accountId: string, domainId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ZONE#${domainId}`,
});
export const zoneQueue: Queue = { name: "ZONE_DUE", shards: 16 };

/** RRsets are noted by name and type; more than this many are noted as all of them. */
const dirtyLimit = 200;
export const everything = "*";

export const StoredZone = z.object({
  account_id: z.string(),
  domain_id: z.string(),
  name: z.string(),
  nameservers: z.array(z.string()),
  /** Whether the nameservers should have it: only once the domain is delegated to them. */
  wanted: z.boolean(),
  /** What the provider tells this zone from others by; the domain's id where there is none. */
  reference: z.string().optional(),
  /** The provider's id, once it was made. */
  zone_id: z.string().optional(),
  /** Counts the changes of records; the zone has those up to `synced_revision`. */
  revision: z.int(),
  synced_revision: z.int(),
  /** `<name> <type>` of the RRsets that changed since the zone was last brought up to date. */
  dirty: z.array(z.string()),
  /** RRsets that the zone has or may have got, by the same names: what `everything` has to look at. */
  held: z.array(z.string()),
  /** RRsets with a record that the provider cannot hold, by the same names. */
  refused: z.array(z.string()).default([]),
  /** A change that the provider has taken and not all its servers have. */
  change: z.object({ id: z.string(), revision: z.int() }).optional(),
  due_at: Timestamp.nullable(),
  /** Who is bringing it up to date, and until when. */
  lease_owner: z.string(),
  lease_until: z.string(),
});
export type StoredZone = z.output<typeof StoredZone>;

/** The zone of a new domain, which no nameserver has. */
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

const rrsetName = ({ name, type }: { name: string; type: string }): string => `${name} ${type}`;

/** How long whoever changed the records has the zone to itself before the worker looks after it. */
const graceMs = 60_000;

/**
 * The writes that note which RRsets changed, provided nobody changed any since the zone was read. `wanted` says that
 * the nameservers are to have it from now on.
 */
export function noteChanges(
  zone: StoredZone,
  changed: readonly { name: string; type: string }[],
  now: Date,
  wanted: boolean = zone.wanted,
): Write[] {
  const names = [...new Set([...zone.dirty, ...changed.map(rrsetName)])];
  const isAll = names.length > dirtyLimit || names.includes(everything);
  // What was noted one by one may be in the zone, of a change whose answer was lost.
  const held = isAll && !names.includes(everything) ? [...new Set([...zone.held, ...names])] : zone.held;
  const place = [zone.account_id, zone.domain_id] as const;
  const isDue = wanted && zone.due_at === null;
  const dueAt = isDue ? new Date(now.getTime() + graceMs).toISOString() : zone.due_at;
  return [
    {
      update: zoneKey(zone.account_id, zone.domain_id),
      set: {
        revision: zone.revision + 1,
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

/** Where a zone stands among those that are behind. */
export const zoneDueKey = ({ account_id, domain_id }: Pick<StoredZone, "account_id" | "domain_id">, at: string): Key =>
  dueKey(zoneQueue, [account_id, domain_id], at);

/** Whether the nameservers have everything up to a revision. */
export const hasRevision = ({ wanted, zone_id, synced_revision }: StoredZone, revision: number): boolean =>
  wanted && zone_id !== undefined && synced_revision >= revision;
