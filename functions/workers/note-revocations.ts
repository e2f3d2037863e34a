import { EventDetail } from "../../shared/changes/record.ts";
import { type BusEvent, workerContext } from "../../shared/http/worker.ts";
import { noteRevocation } from "../../shared/mail/servers/revocations.ts";

/**
 * Stores the revocation that an event causes. Mail servers read the revocations. The bus calls this worker for the
 * events that can cause one.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const event = EventDetail.parse(detail);
  const { table, log, now } = workerContext("note_revocations");
  const noted = await noteRevocation(table, event, now());
  log[noted ? "info" : "debug"]("noted", {
    account_id: event.account_id,
    event_id: event.id,
    event_type: event.type,
    ...(noted ? { action: noted.action, scope: noted.scope } : {}),
  });
}
