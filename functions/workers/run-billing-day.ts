import { randomUUID } from "node:crypto";

import { sweepBilling } from "../../shared/billing/sweep.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

/**
 * Closes the billing days of the accounts that are due, for four minutes at most. Scheduled every minute. Several runs
 * at the same time share the work.
 */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "run_billing_day" }, env.LOG_FORMAT);
  const table = openTable(client, env.TABLE_NAME);
  await sweepBilling({ table, now: clock, log, requestId: randomUUID() });
}
