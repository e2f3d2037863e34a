import { randomUUID } from "node:crypto";

import { recorder } from "../changes/recorder.ts";
import type { Log } from "../core/log.ts";
import { getAssignments, grantQueue, planExpiry } from "../grants/assignments.ts";
import { type Bounds, dueKey, dueTasks, type SweepResult, sweepTasks } from "../table/due.ts";
import type { Table } from "../table/table.ts";
import { planExpiryNotice } from "./service-account.ts";

type ExpiryWork = { table: Table; now: () => Date; log: Log };

/**
 * Moves an assignment that has ended to the revoked ones, and records `expired`. Removes the task if the assignment is
 * gone or ends at another time. The assignment gives nothing from its end on, also before this runs. The task of a
 * service account records that the service account expires soon.
 */
async function endDue(accountId: string, id: string, at: string, { table, now }: ExpiryWork): Promise<void> {
  const actor = { type: "system" as const, id: "grants" };
  const author = { action: "system: end of access", actor, requestId: randomUUID() };
  const due = { delete: dueKey(grantQueue, [accountId, id], at) };
  const [, serviceAccountId] = /^token\/(.+)$/.exec(id) ?? [];
  await recorder({ table, accountId, author, now })(async () => {
    if (serviceAccountId !== undefined) {
      const notice = await planExpiryNotice(table, accountId, serviceAccountId, at);
      return { value: undefined, ...notice, housekeeping: true };
    }
    const [assignment] = await getAssignments(table, accountId, [id]);
    if (assignment?.expires_at !== at) return { value: undefined, writes: [due], changes: [], housekeeping: true };
    const { writes, changes } = await planExpiry(table, accountId, assignment, now());
    return { value: undefined, writes: [...writes, due], changes };
  });
}

/** Runs the tasks of assignments that have ended and of service accounts that expire soon, through `sweepTasks`. */
export const sweepGrants = async (work: ExpiryWork, bounds: Bounds = {}): Promise<SweepResult> =>
  sweepTasks(await dueTasks(grantQueue, endDue, work), work.log, bounds);
