import { randomUUID } from "node:crypto";

import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { sweepMigrations } from "../../shared/migrations/sweep.ts";
import { openTable } from "../../shared/table/table.ts";

/** Gives rows of earlier versions their present form, for 40 seconds at most. Scheduled every minute. */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "migrate_rows" }, env.LOG_FORMAT);
  const table = openTable(client, env.TABLE_NAME);
  const swept = await sweepMigrations({ table, now: clock, log, requestId: randomUUID() });
  log[swept.accounts > 0 && env.LOG_FORMAT !== "text" ? "info" : "debug"]("swept", { ...swept });
}
