import { systemAuthor } from "../changes/record.ts";
import { recorder } from "../changes/recorder.ts";
import { getAssignments, grantQueue, planRevocation } from "../grants/assignments.ts";
import type { WorkerContext } from "../http/worker.ts";
import { dueKey, dueTasks, type SweepResult, sweepTasks } from "../table/due.ts";
import { planExpiryNotice, revokeExpired } from "./service-account.ts";

/**
 * Runs a task that was due at `at`.
 * - If the task is about an assignment that ended at `at`: moves the assignment to the revoked assignments, and records
 *   `expired`. The assignment gives no access after `at`, even if this function runs later.
 * - If the task is about an assignment that is gone or ends at another time: only removes the task.
 * - If the task is about a service account that expires soon: records `expiring`. Records nothing if the service
 *   account was revoked or has expired, or if a later notice is due too.
 * - If the task is about a service account that expired 400 days ago: revokes the service account.
 */
async function endDue(accountId: string, id: string, at: string, { table, now }: WorkerContext): Promise<void> {
  const author = systemAuthor("end of access", "grants");
  const due = { delete: dueKey(grantQueue, [accountId, id], at) };
  const commit = recorder({ table, accountId, author, now });
  // The ids of tasks about service accounts are `token/<id>` and `expired/<id>` (service-account.ts).
  const [, task, serviceAccountId] = /^(token|expired)\/(.+)$/.exec(id) ?? [];
  if (task === "expired" && serviceAccountId !== undefined) {
    return revokeExpired({ table, commit, now }, accountId, serviceAccountId, at);
  }
  return commit(async () => {
    if (serviceAccountId !== undefined) {
      const notice = await planExpiryNotice(table, accountId, serviceAccountId, at, now());
      return { value: undefined, ...notice, housekeeping: true };
    }
    const [assignment] = await getAssignments(table, accountId, [id]);
    if (assignment?.expires_at !== at) return { value: undefined, writes: [due], changes: [], housekeeping: true };
    const { writes, changes } = await planRevocation(table, accountId, [assignment], now());
    return { value: undefined, writes: [...writes, due], changes };
  });
}

/**
 * Runs the tasks of assignments that have ended, and of service accounts that expire soon or expired 400 days ago,
 * through `sweepTasks`.
 */
export const sweepGrants = async (work: WorkerContext): Promise<SweepResult> =>
  sweepTasks(await dueTasks(grantQueue, endDue, work), work.log);
