import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { sweepMailboxes } from "../../shared/mail/mailboxes/purge.ts";
import { openTable } from "../../shared/table/table.ts";

/** Purges the mailboxes that were deleted at least 7 days ago. Scheduled every minute. */
export async function handler(): Promise<void> {
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "purge_mailboxes" }, env.LOG_FORMAT);
  const swept = await sweepMailboxes({ table: openTable(client, env.TABLE_NAME), log, now: clock });
  log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
