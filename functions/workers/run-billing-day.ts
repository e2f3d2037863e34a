import { randomUUID } from "node:crypto";

import { sweepBilling } from "../../shared/billing/sweep.ts";
import { workerContext } from "../../shared/http/worker.ts";

/**
 * Closes the past days of accounts: records the usage of each day, and makes the invoice at the end of a month. A run
 * begins no further account after four minutes. Scheduled every minute. Several runs at the same time share the work.
 */
export async function handler(): Promise<void> {
  await sweepBilling({ ...workerContext("run_billing_day"), requestId: randomUUID() });
}
