import { systemAuthor } from "../../shared/changes/record.ts";
import { writerOf } from "../../shared/changes/recorder.ts";
import { advanceRelease, MoreToDelete } from "../../shared/deletion/domain.ts";
import { deleteRest, workspaceOfTask } from "../../shared/deletion/workspace.ts";
import { retireZone } from "../../shared/deletion/zone.ts";
import { advanceDkim } from "../../shared/domains/dkim/advance.ts";
import {
  batchQueue,
  dkimQueue,
  domainKey,
  domainQueue,
  isRenewing,
  transferQueue,
  type StoredDomain,
} from "../../shared/domains/domain.ts";
import { domainById } from "../../shared/domains/find.ts";
import { advanceRegistration } from "../../shared/domains/purchase/advance-registration.ts";
import { advanceTransfer } from "../../shared/domains/purchase/advance-transfer.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import { syncZone } from "../../shared/domains/records/sync.ts";
import { advanceLife, advanceRenewal } from "../../shared/domains/renewal/advance.ts";
import { domainWork } from "../../shared/domains/setup/services.ts";
import { systemWriter, type DomainWork } from "../../shared/domains/setup/work.ts";
import { type StoredZone, getZone, zoneDueKey, zoneKey, zoneQueue } from "../../shared/domains/zone.ts";
import {
  type Bounds,
  type Queue,
  type SweepResult,
  dueKey,
  dueTasks,
  forgetDue,
  sweepTasks,
} from "../../shared/table/due.ts";

/**
 * Runs the task of a domain that was queued for the time `at`. Removes the queue entry if the domain is not due at this
 * time, or has a status without tasks. A task that fails stays due and is retried. The same queue has tasks of deleted
 * workspaces. Such a task deletes the rest of the workspace.
 */
export async function advanceDomain(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const workspaceId = workspaceOfTask(id);
  if (workspaceId !== undefined) {
    const writer = writerOf(work, accountId, systemAuthor("workspace", "workspaces"));
    return deleteRest(accountId, { id: workspaceId, at }, writer, releaseMs);
  }
  const domain = await domainById(work.table, accountId, id);
  if (domain?.due_at !== at) return forget(domainQueue, dueAt, [accountId, id, at], work);
  if (isRenewing(domain)) return advanceRenewal(domain, work);
  switch (domain.status) {
    case "pending_registration":
      return advanceRegistration(domain, work);
    case "releasing":
      return releaseForAWhile(domain, work);
    case "pending_delegation":
    case "active":
    case "degraded":
    case "expired": {
      const current = await retireZone(domain, work);
      return current && advanceLife(current, work);
    }
    default:
      await work.table.attempt({ delete: dueKey(domainQueue, [accountId, id], at) });
  }
}

/** The longest time for which one run deletes the contents of one domain or workspace, in milliseconds. */
const releaseMs = 15_000;

/**
 * Continues the release of a domain, and stops after `releaseMs`. The rest stays due, so that other tasks get their
 * turn.
 */
async function releaseForAWhile(domain: StoredDomain, work: DomainWork): Promise<void> {
  try {
    await advanceRelease(domain, systemWriter(work, domain.account_id), { ...work, budgetMs: releaseMs });
  } catch (error) {
    if (!(error instanceof MoreToDelete)) throw error;
    work.log.info("release goes on later", { domain_id: domain.id, reason: error.message });
  }
}

/** Runs the task of a transfer that was queued for the time `at`, as `advanceDomain` does. */
export async function advanceDueTransfer(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const domain = await domainById(work.table, accountId, id);
  if (domain?.transfer?.due_at !== at) return forget(transferQueue, transferDueAt, [accountId, id, at], work);
  return advanceTransfer(domain, work);
}

/** Returns the time for which a task of a domain is queued. Null or undefined if no task is due. */
type DueAt = (domain: StoredDomain | undefined) => string | null | undefined;
const dueAt: DueAt = (domain) => domain?.due_at;
const transferDueAt: DueAt = (domain) => domain?.transfer?.due_at;

/** Reads the domain of a queue entry again, and removes the entry if the domain is not due at the time of the entry. */
const forget = (
  queue: Queue,
  dueAtOf: DueAt,
  [accountId, id, at]: readonly [string, string, string],
  { table }: DomainWork,
): Promise<void> =>
  forgetDue(table, dueKey(queue, [accountId, id], at), async () => {
    const domain = await domainById(table, accountId, id);
    return {
      isDue: dueAtOf(domain) === at,
      unchanged: { check: domainKey(accountId, id), if: domain ? { id, version: domain.version } : "absent" },
    };
  });

/**
 * Runs the due tasks of purchases, transfers, domains, zones and rotations of DKIM keys, within `bounds`. A task that
 * fails stays due.
 */
export async function sweepDomains(work: DomainWork, bounds: Bounds = {}): Promise<SweepResult> {
  const tasks = await Promise.all([
    dueTasks(batchQueue, continueBatch, work),
    dueTasks(transferQueue, advanceDueTransfer, work),
    dueTasks(domainQueue, advanceDomain, work),
    dueTasks(zoneQueue, synchronizeZone, work),
    dueTasks(dkimQueue, advanceDkim, work),
  ]);
  return sweepTasks(tasks.flat(), work.log, bounds);
}

/** Synchronizes a zone, or removes its queue entry if the zone is not due at the time of the entry. */
async function synchronizeZone(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const zone = await getZone(work.table, accountId, id);
  if (isDue(zone, at)) return void (await syncZone(accountId, id, work));
  await forgetDue(work.table, zoneDueKey(zone ?? { account_id: accountId, domain_id: id }, at), async () => {
    const current = await getZone(work.table, accountId, id);
    const unchanged = current ? { revision: current.revision, lease_until: current.lease_until } : ("absent" as const);
    return { isDue: isDue(current, at), unchanged: { check: zoneKey(accountId, id), if: unchanged } };
  });
}

const isDue = (zone: StoredZone | undefined, at: string): boolean => zone?.wanted === true && zone.due_at === at;

/** Runs the due tasks of purchases, transfers, domains, zones and rotations of DKIM keys. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = domainWork("advance_domains");
  const startedMs = performance.now();
  const swept = await sweepDomains(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
