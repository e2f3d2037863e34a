import { dueKey, forgetDue } from "../table/due.ts";
import { sweepTasks, dueTasks, type Bounds, type Swept } from "../table/sweep.ts";
import { advanceIp } from "./advance.ts";
import { operationKey, readOperation } from "./operation.ts";
import { ipQueue, operationQueue } from "./queues.ts";
import { carryOn } from "./settle.ts";
import { systemMover, type IpWork } from "./work.ts";

/** Does what is due of assignments that were left, and of dedicated IPs, as `sweepTasks` has it. */
export async function sweepIps(work: IpWork, bounds: Bounds = {}): Promise<Swept> {
  const left = await dueTasks(operationQueue, carryOnOne, work);
  const due = await dueTasks(ipQueue, advanceIp, work);
  return sweepTasks([...left, ...due], work.log, bounds);
}

/** Goes on with an assignment that was left, or forgets that it was due when it is over. */
export async function carryOnOne(accountId: string, id: string, at: string, work: IpWork): Promise<void> {
  const { table } = work;
  const operation = await readOperation(table, accountId, id);
  if (operation?.due_at === at) return carryOn(operation, systemMover(work, accountId));
  await forgetDue(table, dueKey(operationQueue, [accountId, id], at), async () => {
    const current = await readOperation(table, accountId, id);
    return {
      isDue: current?.due_at === at,
      unchanged: { check: operationKey(accountId, id), if: current ? { id: current.id } : "absent" },
    };
  });
}
