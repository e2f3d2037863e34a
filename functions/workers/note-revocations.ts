import type { EventBridgeEvent } from "aws-lambda";

import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { noteRevocation, RevokingEvent } from "../../shared/mail/servers/revocations.ts";
import { openTable } from "../../shared/table/table.ts";

/**
 * Stores the revocation that an event causes. Mail servers read the revocations. The bus calls this worker for the
 * events that can revoke access.
 */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const event = RevokingEvent.parse(detail);
  const { env, client } = runtime();
  const noted = await noteRevocation(openTable(client, env.TABLE_NAME), event, clock());
  createLog(env.LOG_LEVEL, { worker: "note_revocations" }, env.LOG_FORMAT)[noted ? "info" : "debug"]("noted", {
    account_id: event.account_id,
    event_id: event.id,
    event_type: event.type,
    ...(noted ? { action: noted.action, scope: noted.scope } : {}),
  });
}
