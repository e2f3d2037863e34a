import { advanceRelease } from "../../shared/deletion/detach.ts";
import { batchQueue, domainKey, domainQueue, isRenewing } from "../../shared/domains/domain.ts";
import { domainById } from "../../shared/domains/find.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import { advanceRegistration } from "../../shared/domains/purchase/registration.ts";
import { syncZone } from "../../shared/domains/records/sync.ts";
import { advanceLife, advanceRenewal } from "../../shared/domains/renewal/advance.ts";
import { domainWork } from "../../shared/domains/setup/services.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { type StoredZone, getZone, zoneDueKey, zoneKey, zoneQueue } from "../../shared/domains/zone.ts";
import { type Bounds, type SweepResult, dueKey, dueTasks, forgetDue, sweepTasks } from "../../shared/table/due.ts";

/** Runs the task of a domain that is due at a given time. A failed task stays due and is retried. */
export async function advanceDomain(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const domain = await domainById(work.table, accountId, id);
  if (domain?.due_at !== at) return forget(accountId, id, at, work);
  if (isRenewing(domain)) return advanceRenewal(domain, work);
  switch (domain.status) {
    case "pending_registration":
      return advanceRegistration(domain, work);
    case "releasing":
      return advanceRelease(domain, work);
    case "pending_delegation":
    case "active":
    case "degraded":
    case "expired":
      return advanceLife(domain, work);
    default:
      await work.table.attempt({ delete: dueKey(domainQueue, [accountId, id], at) });
  }
}

/** Removes a queue entry whose domain is not due at that time any more. */
const forget = (accountId: string, id: string, at: string, { table }: DomainWork): Promise<void> =>
  forgetDue(table, dueKey(domainQueue, [accountId, id], at), async () => {
    const domain = await domainById(table, accountId, id);
    return {
      isDue: domain?.due_at === at,
      unchanged: { check: domainKey(accountId, id), if: domain ? { id, version: domain.version } : "absent" },
    };
  });

/** Runs the due tasks of purchases, domains and zones through `sweepTasks`. */
export async function sweepDomains(work: DomainWork, bounds: Bounds = {}): Promise<SweepResult> {
  const tasks = await Promise.all([
    dueTasks(batchQueue, continueBatch, work),
    dueTasks(domainQueue, advanceDomain, work),
    dueTasks(zoneQueue, bringUp, work),
  ]);
  return sweepTasks(tasks.flat(), work.log, bounds);
}

/** Synchronizes a zone, or removes its queue entry if the zone is gone or due at another time. */
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

/** Runs the due tasks of purchases, domains and zones. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = domainWork("advance_domains");
  const startedMs = performance.now();
  const swept = await sweepDomains(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
