import { publicUrl } from "../../shared/core/product.ts";
import { type BusEvent, ResourceEvent, workerContext } from "../../shared/http/worker.ts";
import { sendVerification } from "../../shared/mail/forwarding/send.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";

/**
 * Sends the mails that ask the recipients of a forwarding rule to agree. Triggered by an event of the rule. Rejects if
 * one of the mails cannot be sent now. The worker is then called again.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const { account_id, resource } = ResourceEvent.parse(detail);
  const work = workerContext("send_verification");
  const mail = mailHere(work.table, work.now);
  await sendVerification(account_id, resource.id, { ...work, mail, publicUrl: publicUrl() });
  work.log.info("verification dealt with", { account_id, forwarding_id: resource.id });
}
