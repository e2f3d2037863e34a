import { randomUUID } from "node:crypto";

import { change } from "../changes/kind.ts";
import { domainKind, type StoredDomain } from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { keptUntil } from "../domains/setup/takeover.ts";
import { domainUpdate, systemMover, type DomainWork } from "../domains/setup/work.ts";
import { domainViews } from "../domains/view.ts";
import { everything, getZone, zoneDueKey, zoneKey, type StoredZone } from "../domains/zone.ts";
import type { Write } from "../table/writes.ts";
import { finishRelease, removeZone } from "./domain.ts";

/**
 * Continues the release of a domain. A domain that lost its name to another account first loses only its zone, because
 * the other account's zone needs the name. The rest follows when its retention time is over.
 */
export async function advanceRelease(domain: StoredDomain, work: DomainWork): Promise<void> {
  const mover = systemMover(work, domain.account_id);
  const until = keptUntil(domain);
  if (until !== undefined && until > work.now().toISOString()) {
    await removeZone(domain, mover, work.dns);
    return noteDetached(domain, until, work);
  }
  if (until === undefined || (await endKeeping(domain, work))) {
    await finishRelease(domain.account_id, domain.id, mover, work);
  }
}

/**
 * Ends the retention time of a domain that lost its name. From then on its account cannot get it back. False if another
 * process changed the domain meanwhile.
 */
function endKeeping({ account_id, id, version }: StoredDomain, work: DomainWork): Promise<boolean> {
  const { table, commit } = systemMover(work, account_id);
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (domain?.version !== version) return { value: false, writes: [], changes: [] };
    const { writes } = domainUpdate(domain, { deletes_at: null, status_reason: null });
    return { value: true, writes, changes: [], housekeeping: true };
  });
}

/** Records that the zone is removed, and schedules the rest of the release for the end of the retention time. */
function noteDetached({ account_id, id }: StoredDomain, until: string, work: DomainWork): Promise<void> {
  const { table, commit } = systemMover(work, account_id);
  return commit(async () => {
    const [domain, zone] = await Promise.all([domainById(table, account_id, id), getZone(table, account_id, id)]);
    // The account that lost the name may have deleted the domain meanwhile.
    if (domain?.status !== "releasing" || keptUntil(domain) !== until) {
      return { value: undefined, writes: [], changes: [] };
    }
    const { after, writes } = domainUpdate(domain, { deletes_at: until, due_at: until });
    const [before, shown] = (await domainViews(table, account_id, [domain, after])) as [object, object];
    const isNews = domain.deletes_at === null;
    return {
      value: undefined,
      writes: [...writes, ...(zone ? zoneRemoved(zone) : [])],
      changes: isNews ? [change(domainKind, "updated", id, { before, after: shown })] : [],
      housekeeping: true,
    };
  });
}

/**
 * The writes that record that the provider does not have a zone any more. With the new reference, a zone that is created
 * later is a different zone.
 */
function zoneRemoved(zone: StoredZone): Write[] {
  const { account_id, domain_id, revision, due_at } = zone;
  return [
    {
      update: zoneKey(account_id, domain_id),
      set: { reference: randomUUID(), dirty: [everything], held: [], due_at: null },
      remove: ["zone_id", "change"],
      if: { revision, wanted: false },
    },
    ...(due_at === null ? [] : [{ delete: zoneDueKey(zone, due_at) }]),
  ];
}
