import { randomUUID } from "node:crypto";

import type { Writer } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { dayMs } from "../core/time.ts";
import { domainKey, type StoredDomain } from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { domainUpdate, systemWriter, type DomainWork } from "../domains/setup/work.ts";
import { allRrsets, getZone, zoneDueKey, zoneKey, type StoredZone } from "../domains/zone.ts";
import { type Dns, ZoneExists } from "../providers/dns/dns.ts";
import type { Write } from "../table/writes.ts";

/**
 * Removes the zone of a domain from the nameservers permanently.
 * - If a process died after the provider made the zone and before the process stored the zone's id, the id is unknown.
 *   To find such a zone, this function asks the provider to create the zone again with the same reference. It asks only
 *   for a verified domain, because no other domain can have a zone.
 * - For an external domain whose `handover` is null, this function does nothing, because our nameservers do not serve
 *   its zone.
 *
 * Throws 503 when the provider does not answer, and while another process syncs the zone.
 */
export async function removeZone(domain: StoredDomain, writer: Writer, dns: Dns): Promise<void> {
  const { account_id, id, name, nameservers, verified_at, dns_mode, handover } = domain;
  if (dns_mode === "external" && handover === null) return;
  const alreadyUnwanted = await markUnwanted(domain, writer);
  const zone = alreadyUnwanted ?? (await getZone(writer.table, account_id, id));
  if (zone?.zone_id !== undefined) return dns.deleteZone(zone.zone_id);
  if (!zone || verified_at === null) return;
  try {
    const { zoneId } = await dns.createZone({ name, reference: zone.reference ?? id, nameservers });
    await dns.deleteZone(zoneId);
  } catch (error) {
    // The provider has no zone of this domain, so there is nothing to delete. There are two cases: another account has
    // a zone of the name, or the nameservers have a zone above or below the name, which excludes a zone of the name.
    if (!(error instanceof ZoneExists)) throw error;
  }
}

/**
 * Marks the zone as not wanted, so that no sync creates the zone again or writes to it. Returns the zone only if it was
 * marked before this call. Otherwise returns undefined, and the caller has to read the zone: another process may have
 * changed it. If another process syncs the zone, marks the zone too, and then throws 503 `busy`.
 */
async function markUnwanted(
  { account_id, id }: StoredDomain,
  { table, commit, now }: Writer,
): Promise<StoredZone | undefined> {
  let alreadyUnwanted: StoredZone | undefined;
  const isBusy = await commit(async () => {
    const zone = await getZone(table, account_id, id);
    const value = zone !== undefined && zone.lease_until > now().toISOString();
    alreadyUnwanted = zone?.wanted === true ? undefined : zone;
    if (!zone?.wanted) return { value, writes: [], changes: [] };
    const { revision, lease_until } = zone;
    return {
      value,
      writes: [{ update: zoneKey(account_id, id), set: { wanted: false }, if: { revision, lease_until } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
  if (isBusy) throw new Problem("busy", "The domain's zone is being updated. Try again.", { retry_after: 1 });
  return alreadyUnwanted;
}

/**
 * The writes that record that the provider has no zone of this domain any more. They give the stored zone a new
 * reference, so that the provider makes a different zone the next time. They end the lease of a sync that has stalled,
 * so that this sync cannot store the removed zone.
 */
export function zoneRemovalWrites(zone: StoredZone): Write[] {
  const { account_id, domain_id, revision, due_at } = zone;
  return [
    {
      update: zoneKey(account_id, domain_id),
      set: { reference: randomUUID(), dirty: [allRrsets], held: [], due_at: null, lease_owner: "", lease_until: "" },
      remove: ["zone_id", "change"],
      if: { revision, wanted: false },
    },
    ...(due_at === null ? [] : [{ delete: zoneDueKey(zone, due_at) }]),
  ];
}

/**
 * How long resolvers may ask our nameservers after the parent zone delegates a name elsewhere, in milliseconds. This is
 * longer than the usual TTL of a delegation, two days.
 */
const delegationKeptMs = 3 * dayMs;

/**
 * Removes the zone of an external domain from our nameservers, three days after the parent zone was first seen to
 * delegate the name elsewhere. Before that, resolvers may still ask our nameservers, and nothing changes. Returns the
 * new state of the domain, or undefined if another process has changed the domain, or if the domain has no zone. Throws
 * 503 as `removeZone` does.
 */
export async function retireZone(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const { account_id, id, version, handover } = domain;
  const goneAt = handover?.gone_at ?? null;
  if (goneAt === null || work.now().getTime() - Date.parse(goneAt) < delegationKeptMs) return domain;
  const writer = systemWriter(work, account_id);
  const { table, commit } = writer;
  // After this, `dns_mode` cannot become `hosted` again until the zone is removed.
  const isMarked = await commit(async () => {
    const [current, zone] = await Promise.all([domainById(table, account_id, id), getZone(table, account_id, id)]);
    if (current?.version !== version || !zone) return { value: false, writes: [], changes: [] };
    if (!zone.wanted) return { value: true, writes: [], changes: [] };
    // The domain gets a new version, so that the transactions of requests that have read the zone as wanted fail.
    const fence: Write = { update: domainKey(account_id, id), add: { version: 1 }, if: { id, version } };
    const marking = { update: zoneKey(account_id, id), set: { wanted: false }, if: { revision: zone.revision } };
    return { value: true, writes: [fence, marking], changes: [], housekeeping: true };
  });
  if (!isMarked) return undefined;
  await removeZone(domain, writer, work.dns);
  return commit(async () => {
    const [current, zone] = await Promise.all([domainById(table, account_id, id), getZone(table, account_id, id)]);
    if (!current || !zone) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, { handover: null });
    return { value: after, writes: [...writes, ...zoneRemovalWrites(zone)], changes: [], housekeeping: true };
  });
}
