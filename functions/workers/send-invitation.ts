import { sendInvitation } from "../../shared/access/invitations/send.ts";
import { publicUrl } from "../../shared/core/product.ts";
import { type BusEvent, ResourceEvent, workerContext } from "../../shared/http/worker.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";

/**
 * Sends the mail of an invitation. Triggered by an event of the invitation. Rejects if the mail cannot be sent now. The
 * worker is then called again.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const { account_id, resource } = ResourceEvent.parse(detail);
  const work = workerContext("send_invitation");
  const mail = mailHere(work.table, work.now);
  await sendInvitation(account_id, resource.id, { ...work, mail, publicUrl: publicUrl() });
  work.log.info("invitation dealt with", { account_id, invitation_id: resource.id });
}
