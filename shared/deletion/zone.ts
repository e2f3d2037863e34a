import { Problem } from "../core/errors.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Mover } from "../domains/setup/work.ts";
import { getZone, zoneKey, type StoredZone } from "../domains/zone.ts";
import { ZoneExists, type Dns } from "../providers/dns/dns.ts";

/**
 * Removes a domain's zone from the nameservers permanently, even a zone whose creation could not be stored. Throws 503
 * when the provider does not answer, and while another process syncs the zone.
 */
export async function removeZone(domain: StoredDomain, mover: Mover, dns: Dns): Promise<void> {
  const { account_id, id, name, nameservers, verified_at } = domain;
  const unserved = await stopServing(domain, mover);
  const zone = unserved ?? (await getZone(mover.table, account_id, id));
  if (zone?.zone_id !== undefined) return dns.deleteZone(zone.zone_id);
  if (!zone || verified_at === null) return;
  try {
    const { zoneId } = await dns.createZone({ name, reference: zone.reference ?? id, nameservers });
    await dns.deleteZone(zoneId);
  } catch (error) {
    // The name belongs to another account, and so does its zone.
    if (!(error instanceof ZoneExists)) throw error;
  }
}

/**
 * Marks the zone as not wanted, so that no sync creates it again or writes to it. Returns the zone if it was not wanted
 * before.
 */
async function stopServing(
  { account_id, id }: StoredDomain,
  { table, commit, now }: Mover,
): Promise<StoredZone | undefined> {
  let unserved: StoredZone | undefined;
  const isBusy = await commit(async () => {
    const zone = await getZone(table, account_id, id);
    const value = zone !== undefined && zone.lease_until > now().toISOString();
    unserved = zone?.wanted === true ? undefined : zone;
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
  return unserved;
}
