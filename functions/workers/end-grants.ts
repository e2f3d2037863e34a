import { sweepGrants } from "../../shared/access/expiry.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

/**
 * Records the end of grants and assigned roles that have ended by themselves, and announces service accounts that
 * expire soon. Scheduled every minute.
 */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "end_grants" }, env.LOG_FORMAT);
  const swept = await sweepGrants({ table: openTable(client, env.TABLE_NAME), log, now: clock });
  log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
