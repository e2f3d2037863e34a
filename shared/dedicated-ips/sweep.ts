import { mapConcurrently } from "../core/concurrency.ts";
import { syncNow } from "../domains/records/sync-now.ts";
import type { Context } from "../http/route.ts";
import { type SweepResult, dueKey, dueTasks, forgetDue, sweepTasks } from "../table/due.ts";
import { advanceIp } from "./advance.ts";
import { type IpContext, systemContext } from "./change.ts";
import { ipQueue, operationQueue } from "./dedicated-ip.ts";
import { operationKey, readOperation } from "./operation.ts";
import { resumeOperation } from "./settle.ts";

/**
 * Resumes the operations that are due, and checks the dedicated IPs that are due. `sweepTasks` limits the number of
 * these tasks and the time for them.
 */
export async function sweepIps(context: IpContext): Promise<SweepResult> {
  const abandoned = await dueTasks(operationQueue, resumeOne, context);
  const due = await dueTasks(ipQueue, advanceIp, context);
  return sweepTasks([...abandoned, ...due], context.log);
}

/** Resumes an abandoned operation, or removes its task from the queue if the operation has ended. */
export async function resumeOne(accountId: string, id: string, at: string, context: IpContext): Promise<void> {
  const { table } = context;
  const operation = await readOperation(table, accountId, id);
  if (operation?.due_at === at) return resumeOperation(operation, systemContext(context, accountId));
  await forgetDue(table, dueKey(operationQueue, [accountId, id], at), async () => {
    const current = await readOperation(table, accountId, id);
    return {
      isDue: current?.due_at === at,
      unchanged: { check: operationKey(accountId, id), if: current ? { id: current.id } : "absent" },
    };
  });
}

/** How many domains `syncFirst` syncs. It syncs all of them at the same time. */
const concurrency = 5;

/**
 * Sends the SPF records of the first five domains to the nameservers. The worker sends the records of the other
 * domains.
 */
export async function syncFirst(accountId: string, domainIds: readonly string[], context: Context): Promise<void> {
  await mapConcurrently(domainIds.slice(0, concurrency), concurrency, (id) =>
    syncNow({ account_id: accountId, id }, context),
  );
}
