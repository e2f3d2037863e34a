import { checkLedgers } from "../../shared/billing/check-ledgers.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

/** Checks the ledgers of this hour's accounts, and changes nothing. Scheduled every hour. */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "check_ledgers" }, env.LOG_FORMAT);
  log.info("ledgers checked", {
    ...(await checkLedgers({ table: openTable(client, env.TABLE_NAME), log, now: clock })),
  });
}
