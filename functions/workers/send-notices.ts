import type { EventBridgeEvent } from "aws-lambda";

import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { NoticeEvent } from "../../shared/notices/notice.ts";
import { sendNotice } from "../../shared/notices/send.ts";
import { hasMail, mailHere } from "../../shared/providers/mail/factory.ts";
import { openTable } from "../../shared/table/table.ts";

let hasLoggedOff = false;

/**
 * Sends the mails about an event of the bus to the people who should know of it (`recipientsOf`). Rejects if a mail
 * cannot be sent now. The worker is then called again. Without a mail provider no mails are sent.
 */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const event = NoticeEvent.parse(detail);
  const { env, client } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "send_notices" }, env.LOG_FORMAT);
  if (!hasMail()) {
    if (!hasLoggedOff) log.info("notices are off: no mail provider is configured");
    hasLoggedOff = true;
    return;
  }
  const table = openTable(client, env.TABLE_NAME);
  await sendNotice(event, { table, mail: mailHere(table, clock), now: clock, log });
  log.info("notice dealt with", { account_id: event.account_id, event_id: event.id, event_type: event.type });
}
