import { setTimeout as delay } from "node:timers/promises";

import { handler as retryDeliveries } from "../../../functions/workers/retry-deliveries.ts";
import type { Event } from "../../../shared/changes/event.ts";
import { changeKey } from "../../../shared/changes/record.ts";
import { deadLettersIn } from "./event-log.ts";
import { eventQueueIn, type QueuedEvent } from "./event-queue.ts";
import { callTargets, startEventTarget } from "./event-target.ts";
import { startPoller } from "./poller.ts";

type WebhookOptions = { dataDir: string; onError: (what: string, error: unknown) => void };

export type Webhooks = {
  /** Takes a published event; resolves when it is written down, long before it is delivered. */
  onEvent: (event: Event) => Promise<void>;
  /** Looks at once which deliveries are due. */
  retry: () => void;
  /** Waits for the deliveries at hand; those that take too long are tried again after the next start. */
  stop: () => Promise<void>;
};

const retryEveryMs = 10_000;
/** Longer than one attempt to deliver takes. */
const longestStopMs = 12_000;

/** Hands events to the deployed workers, and tries webhooks' deliveries again every ten seconds. */
export function startWebhooks({ dataDir, onError }: WebhookOptions): Webhooks {
  const queue = eventQueueIn(dataDir);
  const target = startEventTarget({
    queue,
    handler: callTargets,
    onGivenUp: (event, reason) => deadLettersIn(dataDir).append([letterOf(event, reason)]),
    onError: (error) => onError("event target", error),
  });
  const retries = startPoller({
    work: retryDeliveries,
    idleMs: retryEveryMs,
    // It waits for receivers, and takes nothing from the process meanwhile.
    restRatio: 0,
    onError: (error) => onError("retries of deliveries", error),
  });
  return {
    onEvent: async (event) => {
      await queue.put(event);
      target.wake();
    },
    retry: retries.wake,
    stop: async () => {
      const late = new AbortController();
      const stopped = Promise.all([target.stop(), retries.stop()]).then(() => late.abort());
      await Promise.race([stopped, delay(longestStopMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    },
  };
}

const letterOf = ({ id, account_id }: QueuedEvent, reason: string) => {
  const { PK: pk, SK: sk } = changeKey(account_id, id);
  return { at: new Date().toISOString(), pk, sk, reason: `not dispatched: ${reason}` };
};
