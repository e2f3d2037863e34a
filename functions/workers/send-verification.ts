import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { createLog } from "../../shared/core/log.ts";
import { publicUrl } from "../../shared/core/product.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { sendVerification } from "../../shared/mail/forwarding/send.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";
import { openTable } from "../../shared/table/table.ts";

const Detail = z.object({ account_id: z.string(), resource: z.object({ id: z.string() }) });

/**
 * Sends the mail that asks the recipient of a forwarding rule for consent. Triggered by an event of the rule. Rejects
 * if the mail cannot be sent now. The worker is then called again.
 */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const { account_id, resource } = Detail.parse(detail);
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  const log = createLog(env.LOG_LEVEL, { worker: "send_verification" }, env.LOG_FORMAT);
  const mail = mailHere(table, clock);
  await sendVerification(account_id, resource.id, { table, mail, publicUrl: publicUrl(), now: clock, log });
  log.info("verification dealt with", { account_id, forwarding_id: resource.id });
}
