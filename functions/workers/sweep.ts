import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import { batchQueue, domainQueue } from "../../shared/domains/queues.ts";
import { syncZone } from "../../shared/domains/records/sync.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { getZone, zoneDueKey, zoneKey, zoneQueue, type StoredZone } from "../../shared/domains/zone.ts";
import { forgetDue } from "../../shared/table/due.ts";
import { sweepTasks, dueTasks, type Bounds, type Swept } from "../../shared/table/sweep.ts";
import { advanceDomain } from "./advance.ts";

/** Does what is due of purchases, domains and zones, as `sweepTasks` has it. */
export async function sweepDomains(work: DomainWork, bounds: Bounds = {}): Promise<Swept> {
  const tasks = await Promise.all([
    dueTasks(batchQueue, continueBatch, work),
    dueTasks(domainQueue, advanceDomain, work),
    dueTasks(zoneQueue, bringUp, work),
  ]);
  return sweepTasks(tasks.flat(), work.log, bounds);
}

/** Brings a zone up to date, or forgets that it was due when it is no more, or was due at another time. */
async function bringUp(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const zone = await getZone(work.table, accountId, id);
  if (isDue(zone, at)) return void (await syncZone(accountId, id, work));
  await forgetDue(work.table, zoneDueKey(zone ?? { account_id: accountId, domain_id: id }, at), async () => {
    const current = await getZone(work.table, accountId, id);
    const unchanged = current ? { revision: current.revision, lease_until: current.lease_until } : ("absent" as const);
    return { isDue: isDue(current, at), unchanged: { check: zoneKey(accountId, id), if: unchanged } };
  });
}

const isDue = (zone: StoredZone | undefined, at: string): boolean => zone?.wanted === true && zone.due_at === at;
