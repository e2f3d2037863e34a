import { randomUUID } from "node:crypto";

import { Problem } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { RecordType, type RRset } from "../../dns/rrset.ts";
import { ZoneExists, type Dns, type ZoneChange, type ZoneChanged } from "../../providers/dns/dns.ts";
import { moveDue } from "../../table/due.ts";
import type { Table } from "../../table/table.ts";
import { allRrsets, getZone, soaOwner, StoredZone, zoneKey, zoneQueue } from "../zone.ts";
import { parsedOf } from "./plan.ts";
import { rrsetsOf } from "./record.ts";
import { recordsIn } from "./stored-record.ts";

export type ZoneWork = { table: Table; dns: Dns; now: () => Date; log: Log };

/**
 * How long a lease lasts, in milliseconds. The calls to the provider in one round usually take much less, even with
 * retries.
 */
const leaseMs = 120_000;
/** A round begins only if the lease lasts at least this much longer, in milliseconds. */
const leastLeaseMs = 60_000;
/** How many rounds one call makes at most. If records change during a round, a further round writes these changes. */
const rounds = 5;
/** The wait before the worker asks whether all servers have a change, in milliseconds. */
const retryMs = 60_000;
/** How many RRsets one change has at most. Providers accept up to 200. */
const changesAtOnce = 100;

/**
 * Writes a domain's records into its zone at the provider, and returns the last known state of the zone. Undefined if
 * the domain has no zone. Does nothing if the zone is up to date, or if the nameservers should not have the zone.
 * - Only the process with the lease writes; other callers return at once.
 * - Work that cannot be done at present stays due, and is no error for the caller.
 */
export async function syncZone(accountId: string, domainId: string, work: ZoneWork): Promise<StoredZone | undefined> {
  const { table, now, log } = work;
  const zone = await getZone(table, accountId, domainId);
  if (!zone?.wanted || isUpToDate(zone)) return zone;
  const owner = randomUUID();
  const at = now();
  const leased = await table.attempt({
    update: zoneKey(accountId, domainId),
    set: { lease_owner: owner, lease_until: new Date(at.getTime() + leaseMs).toISOString() },
    if: { wanted: true, lease_until: { atMost: at.toISOString() } },
    returns: "item",
  });
  // If the answer to the write is lost, the write is sent again. The second write then fails, because the first write
  // has stored our lease. In this case the lease in the table is our own, and the sync continues.
  if (!leased.done && leased.found["lease_owner"] !== owner) return zone;
  let leasedZone = leased.done ? StoredZone.parse(leased.updated) : undefined;
  let isSettled = false;
  try {
    for (let round = 0; round < rounds; round++) {
      const current = leasedZone ?? (await getZone(table, accountId, domainId));
      // The next round reads the zone again. So does the first round, if the answer with the leased zone was lost.
      leasedZone = undefined;
      if (!current?.wanted || current.lease_owner !== owner) return current;
      if (Date.parse(current.lease_until) - now().getTime() < leastLeaseMs) return current;
      const after = await oneRound(current, owner, work);
      isSettled = after !== undefined;
      if (after) return after;
    }
    return zone;
  } catch (error) {
    if (!isPassing(error)) throw error;
    log.info("zone not up to date", { domain_id: domainId, reason: String(error) });
    return zone;
  } finally {
    if (!isSettled) await releaseLease(accountId, domainId, owner, work);
  }
}

/** Whether the cause of an error passes by itself, so that the worker can sync the zone later. */
const isPassing = (error: unknown): boolean =>
  error instanceof ZoneExists ||
  (error instanceof Problem && (error.code === "upstream_unavailable" || error.code === "busy"));

/** A zone with a due time is never up to date, because the due time still has to be cleared. */
const isUpToDate = ({ zone_id, dirty, change, due_at }: StoredZone): boolean =>
  zone_id !== undefined && dirty.length === 0 && change === undefined && due_at === null;

/** Releases the lease. If this fails, the lease lapses by itself. */
async function releaseLease(accountId: string, domainId: string, owner: string, { table }: ZoneWork): Promise<void> {
  const write = { update: zoneKey(accountId, domainId), set: { lease_until: "" }, if: { lease_owner: owner } };
  await table.attempt(write).catch(() => undefined);
}

/**
 * Writes the RRsets that are noted in `dirty` into the zone. If none is noted, asks whether all servers have the last
 * change. Returns the new state of the zone, or undefined if records changed or another process got the lease
 * meanwhile.
 */
async function oneRound(zone: StoredZone, owner: string, work: ZoneWork): Promise<StoredZone | undefined> {
  const { dns } = work;
  if (zone.dirty.length === 0 && zone.zone_id !== undefined && zone.change) {
    const isInSync = await dns.isInSync(zone.change.id);
    return settleZone(
      zone,
      owner,
      isInSync ? { synced_revision: zone.change.revision } : { change: zone.change },
      work,
    );
  }
  const { account_id, domain_id, name, nameservers, reference = domain_id } = zone;
  const zoneId = zone.zone_id ?? (await dns.createZone({ name, reference, nameservers })).zoneId;
  const records = await recordsIn(work.table, account_id, domain_id);
  const wanted = new Map(rrsetsOf(records.map(parsedOf), name).map((rrset) => [nameIn(rrset, name), rrset]));
  const noted = await noteHeld(zone, [...wanted.keys()], owner, work);
  if (!noted) return undefined;
  const changes = changesOf(noted, wanted);
  const touched = new Set(changes.map((one) => nameIn("put" in one ? one.put : one.remove, name)));
  const refused = zone.refused.filter((rrset) => !touched.has(rrset));
  let last: ZoneChanged | undefined;
  for (let from = 0; from < changes.length; from += changesAtOnce) {
    const some = changes.slice(from, from + changesAtOnce);
    // The SOA gets its new serial with the last change, so that a serial never stands for a part of a revision.
    const isLast = from + changesAtOnce >= changes.length;
    last = await dns.changeZone(zoneId, some, isLast ? soaOwner(zone) : undefined);
    refused.push(...(last.refused ?? []).map((one) => nameIn(one, name)));
  }
  const isInSync = last?.isInSync ?? true;
  const outcome = isInSync
    ? { synced_revision: zone.revision }
    : { change: { id: last?.changeId ?? "", revision: zone.revision } };
  return settleZone(zone, owner, { ...outcome, zone_id: zoneId, held: [...wanted.keys()], refused }, work);
}

/** The name and type of an RRset, as `dirty` and `held` have them: the name is relative to the zone. */
const nameIn = ({ name, type }: { name: string; type: string }, zone: string): string =>
  `${name === zone ? "@" : name.slice(0, -zone.length - 1)} ${type}`;

/** Whether a round writes all RRsets, and not only the RRsets that are noted one by one. */
const isAboutAll = ({ dirty, zone_id }: StoredZone): boolean => dirty.includes(allRrsets) || zone_id === undefined;

/**
 * If this round writes all RRsets, stores them in `held` first. A later round can then remove them, even if the answer
 * to the change is lost. Returns the new state of the zone. Returns undefined if records changed meanwhile, or if
 * another process has the lease.
 */
async function noteHeld(
  zone: StoredZone,
  coming: readonly string[],
  owner: string,
  { table }: ZoneWork,
): Promise<StoredZone | undefined> {
  const held = [...new Set([...zone.held, ...coming])];
  if (!isAboutAll(zone) || held.length === zone.held.length) return zone;
  const noted = await table.attempt({
    update: zoneKey(zone.account_id, zone.domain_id),
    set: { held },
    if: { revision: zone.revision, lease_owner: owner },
  });
  return noted.done ? { ...zone, held } : undefined;
}

/** The changes that bring the noted RRsets of a zone to their wanted state. */
function changesOf(zone: StoredZone, wanted: ReadonlyMap<string, RRset>): ZoneChange[] {
  const touched = isAboutAll(zone) ? [...new Set([...zone.held, ...wanted.keys()])] : zone.dirty;
  const changes = touched.map((noted): ZoneChange => {
    const rrset = wanted.get(noted);
    if (rrset) return { put: rrset };
    const [name = "", type = ""] = noted.split(" ");
    return {
      remove: { name: name === "@" ? zone.name : `${name}.${zone.name}`, type: RecordType.parse(type) },
    };
  });
  // Removals come first: a name must lose its CNAME before it gets other records, and its other records before it gets
  // a CNAME.
  const removed = changes.filter((change) => "remove" in change);
  return [...removed, ...changes.filter((change) => "put" in change)];
}

type Settled = Partial<Pick<StoredZone, "synced_revision" | "change" | "zone_id" | "held" | "refused">>;

/**
 * Stores the new state of the zone and releases the lease in one write, so that a later request can sync the zone at
 * once. Returns undefined if records changed or another process got the lease meanwhile. The changed records still have
 * to be synced.
 */
async function settleZone(
  before: StoredZone,
  owner: string,
  settled: Settled,
  { table, now }: ZoneWork,
): Promise<StoredZone | undefined> {
  const { change: _, ...zone } = before;
  const { account_id, domain_id, revision } = zone;
  // The write must fail if `due_at` has changed. A condition cannot require that `due_at` is null, so a zone without a
  // due time is read again just before the write.
  let known = before.due_at === null ? undefined : before;
  const due_at = settled.change ? new Date(now().getTime() + retryMs).toISOString() : null;
  const key = zoneKey(account_id, domain_id);
  const isDone = await table.commit(async () => {
    const current = known ?? (await getZone(table, account_id, domain_id));
    // A plan that runs again reads again.
    known = undefined;
    if (current?.revision !== revision || current.lease_owner !== owner) return { value: false, writes: [] };
    const stillDue = current.due_at === null ? {} : { due_at: current.due_at };
    return {
      value: true,
      writes: [
        {
          update: key,
          set: { ...settled, dirty: [], due_at, lease_until: "" },
          ...(settled.change ? {} : { remove: ["change"] }),
          if: { revision, lease_owner: owner, ...stillDue },
        },
        ...moveDue(zoneQueue, [account_id, domain_id], current.due_at, due_at),
      ],
    };
  });
  if (isDone) return { ...zone, ...settled, dirty: [], due_at, lease_until: "" };
  if (settled.zone_id === undefined) return undefined;
  // The new state could not be stored. But the provider has the zone, with the records of the revision that this round
  // read. So at least these two facts are stored.
  const { zone_id, synced_revision } = settled;
  await table.attempt({ update: key, set: { zone_id, synced_revision }, if: { lease_owner: owner } });
  return undefined;
}
