import { type BusEvent, workerContext } from "../../shared/http/worker.ts";
import { NoticeEvent } from "../../shared/notices/notice.ts";
import { sendNotice } from "../../shared/notices/send.ts";
import { hasMail, mailHere } from "../../shared/providers/mail/factory.ts";

/** Whether this process has logged that notices are off. */
let isOffLogged = false;

/**
 * Sends the mails about an event of the bus to the people who should know of it (`recipientsOf`). Rejects if a mail
 * cannot be sent now. The worker is then called again. Without a mail provider no mails are sent.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const event = NoticeEvent.parse(detail);
  const work = workerContext("send_notices");
  if (!hasMail()) {
    if (!isOffLogged) work.log.info("notices are off: no mail provider is configured");
    isOffLogged = true;
    return;
  }
  await sendNotice(event, { ...work, mail: mailHere(work.table, work.now) });
  work.log.info("notice dealt with", { account_id: event.account_id, event_id: event.id, event_type: event.type });
}
