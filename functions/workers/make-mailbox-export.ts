import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { filesHere } from "../../shared/billing/services.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { runExport } from "../../shared/mail/mailboxes/run-export.ts";
import { openTable } from "../../shared/table/table.ts";

const Detail = z.object({ account_id: z.string(), resource: z.object({ id: z.string() }) });

/** Makes the file of a requested mailbox export. Triggered by its event from the bus. */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const { account_id, resource } = Detail.parse(detail);
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  await runExport(account_id, resource.id, { table, files: filesHere(), now: clock });
  createLog(env.LOG_LEVEL, { worker: "make_mailbox_export" }, env.LOG_FORMAT).info("export made", {
    account_id,
    export_id: resource.id,
  });
}
