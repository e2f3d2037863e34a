import { randomUUID } from "node:crypto";

import { runAll } from "../../shared/billing/run.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock, dayOf, plusDays } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

/**
 * Closes yesterday's billing for every account. Rejects if some accounts failed, so that it is called again; closed
 * accounts are then skipped.
 */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "run_billing_day" }, env.LOG_FORMAT);
  const table = openTable(client, env.TABLE_NAME);
  const day = plusDays(dayOf(clock()), -1);
  const { accounts, failed } = await runAll(day, { table, now: clock, log, requestId: randomUUID() });
  log.info("billing day closed", { day, accounts, failed });
  if (failed > 0) throw new Error(`${failed} of ${accounts} accounts could not be billed.`);
}
