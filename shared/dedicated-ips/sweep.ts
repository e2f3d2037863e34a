import { mapConcurrently } from "../core/concurrency.ts";
import { syncNow } from "../domains/records/sync-now.ts";
import type { Context } from "../http/route.ts";
import { type Bounds, type SweepResult, dueKey, dueTasks, forgetDue, sweepTasks } from "../table/due.ts";
import { advanceIp } from "./advance.ts";
import { ipQueue, operationQueue } from "./dedicated-ip.ts";
import { operationKey, readOperation } from "./operation.ts";
import { resumeOperation } from "./settle.ts";
import { type IpWork, systemMover } from "./work.ts";

/** Resumes abandoned operations and checks dedicated IPs that are due, within the bounds of `sweepTasks`. */
export async function sweepIps(work: IpWork, bounds: Bounds = {}): Promise<SweepResult> {
  const abandoned = await dueTasks(operationQueue, resumeOne, work);
  const due = await dueTasks(ipQueue, advanceIp, work);
  return sweepTasks([...abandoned, ...due], work.log, bounds);
}

/** Resumes an abandoned operation, or removes its task from the queue if the operation has ended. */
export async function resumeOne(accountId: string, id: string, at: string, work: IpWork): Promise<void> {
  const { table } = work;
  const operation = await readOperation(table, accountId, id);
  if (operation?.due_at === at) return resumeOperation(operation, systemMover(work, accountId));
  await forgetDue(table, dueKey(operationQueue, [accountId, id], at), async () => {
    const current = await readOperation(table, accountId, id);
    return {
      isDue: current?.due_at === at,
      unchanged: { check: operationKey(accountId, id), if: current ? { id: current.id } : "absent" },
    };
  });
}

const concurrency = 5;

/** Sends the SPF records of the first few domains to the nameservers at once; the worker sends those of the others. */
export async function syncFirst(accountId: string, domainIds: readonly string[], context: Context): Promise<void> {
  await mapConcurrently(domainIds.slice(0, concurrency), concurrency, (id) =>
    syncNow({ account_id: accountId, id }, context),
  );
}
