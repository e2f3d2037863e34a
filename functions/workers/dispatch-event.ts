import * as z from "zod";

import { clock } from "../../shared/core/time.ts";
import type { BusEvent } from "../../shared/http/worker.ts";
import { openWork } from "../../shared/webhooks/deliver.ts";
import { dispatch } from "../../shared/webhooks/dispatch.ts";
import type { PublishedEvent } from "../../shared/webhooks/signing.ts";

const EventData = z.record(z.string(), z.unknown());

const Detail: z.ZodType<PublishedEvent> = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: z.string(),
  account_id: z.string(),
  actor: z.object({ type: z.string(), id: z.string() }),
  resource: z.object({ type: z.string(), id: z.string() }),
  data: EventData.exactOptional(),
  previous_data: EventData.exactOptional(),
  truncated: z.boolean().exactOptional(),
});

/**
 * Delivers one event from the bus to the webhooks that subscribe to its type. Rejects if a delivery could not be
 * written. The bus then sends the event again.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const work = openWork("dispatch_event");
  const startedMs = performance.now();
  const event = Detail.parse(detail);
  const results = await dispatch(event, work);
  work.log[results.length > 0 ? "info" : "debug"]("dispatched", {
    account_id: event.account_id,
    event_id: event.id,
    event_type: event.type,
    deliveries: results.length,
    succeeded: results.filter((result) => result === "succeeded").length,
    duration_ms: Math.round(performance.now() - startedMs),
    // The SLO of webhooks is measured from the change to the end of the first attempts.
    ...(results.length > 0 ? { delay_ms: Math.max(0, clock().getTime() - Date.parse(event.timestamp)) } : {}),
  });
}
