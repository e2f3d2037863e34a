import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";
import { sweepJournals } from "../../shared/webhooks/index-journals.ts";

/** Indexes new entries of audit logs and of lists of deliveries. Scheduled every minute. */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "index_journals" }, env.LOG_FORMAT);
  const swept = await sweepJournals({ table: openTable(client, env.TABLE_NAME), log, now: clock });
  // At a terminal, lines about the indexing would hide the lines that a person looks for.
  log[swept.due > 0 && env.LOG_FORMAT !== "text" ? "info" : "debug"]("swept", { ...swept });
}
