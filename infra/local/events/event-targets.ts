import type { EventBridgeEvent } from "aws-lambda";

import { handler as dispatchEvent } from "../../../functions/workers/dispatch-event.ts";
import { handler as makeMailboxExport } from "../../../functions/workers/make-mailbox-export.ts";
import { handler as sendVerification } from "../../../functions/workers/send-verification.ts";
import { workers } from "../../entry-points.ts";
import type { QueuedEvent } from "./event-queue.ts";

/** Whether the rule of a worker on the deployed bus hands it events of a type. */
function wants(name: string, type: string): boolean {
  const source = workers.find((worker) => worker.name === name)?.source;
  return typeof source === "object" && "events" in source && source.events !== "all" && source.events.includes(type);
}

/**
 * Calls every worker that wants an event, as the rules of the deployed bus do. When one of them fails, all are
 * called again, which they are ready for.
 */
export async function callTargets(event: EventBridgeEvent<string, QueuedEvent>): Promise<void> {
  await dispatchEvent(event);
  if (wants("workers.make_mailbox_export", event["detail-type"])) await makeMailboxExport(event);
  if (wants("workers.send_verification", event["detail-type"])) await sendVerification(event);
}
