import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { sendInvitation } from "../../shared/access/invitations/send.ts";
import { createLog } from "../../shared/core/log.ts";
import { publicUrl } from "../../shared/core/product.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";
import { openTable } from "../../shared/table/table.ts";

const InvitationEvent = z.object({ account_id: z.string(), resource: z.object({ id: z.string() }) });

/**
 * Sends the mail of an invitation. Triggered by an event of the invitation. Rejects if the mail cannot be sent now. The
 * worker is then called again.
 */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const { account_id, resource } = InvitationEvent.parse(detail);
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  const log = createLog(env.LOG_LEVEL, { worker: "send_invitation" }, env.LOG_FORMAT);
  const mail = mailHere(table, clock);
  await sendInvitation(account_id, resource.id, { table, mail, publicUrl: publicUrl(), now: clock, log });
  log.info("invitation dealt with", { account_id, invitation_id: resource.id });
}
