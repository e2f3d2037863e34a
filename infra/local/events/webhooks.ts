import { setTimeout as delay } from "node:timers/promises";

import { handler as retryDeliveries } from "../../../functions/workers/retry-deliveries.ts";
import { type Event, changeKey } from "../../../shared/changes/record.ts";
import { deadLettersIn } from "./event-log.ts";
import { eventQueueIn, type QueuedEvent } from "./event-queue.ts";
import { callTargets, startEventTarget } from "./event-target.ts";
import { startPoller } from "./poller.ts";

type WebhookOptions = { dataDir: string; onError: (source: string, error: unknown) => void };

export type Webhooks = {
  /** Stores a published event for delivery. Resolves when the event is stored, not when it is delivered. */
  onEvent: (event: Event) => Promise<void>;
  /** Retries due deliveries at once. Resolves when each due delivery was tried. */
  retry: () => Promise<void>;
  /**
   * Waits for running deliveries, but at most 12 seconds. A delivery that takes longer is retried after the next start.
   */
  stop: () => Promise<void>;
};

const retryEveryMs = 10_000;
/** The longest time that `stop` waits, in milliseconds. An attempt to deliver takes less time. */
const longestStopMs = 12_000;

/** Passes events to the workers, and retries due deliveries to webhooks every ten seconds. */
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
    // Retries need only the shortest pause, because they mostly wait for receivers and use little processor time.
    restRatio: 0,
    onError: (error) => onError("retries of deliveries", error),
  });
  return {
    onEvent: target.add,
    retry: retries.run,
    stop: async () => {
      const waiting = new AbortController();
      const stopped = Promise.all([target.stop(), retries.stop()]).then(() => waiting.abort());
      await Promise.race([stopped, delay(longestStopMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
    },
  };
}

const letterOf = ({ id, account_id }: QueuedEvent, reason: string) => {
  const { PK: pk, SK: sk } = changeKey(account_id, id);
  return { at: new Date().toISOString(), pk, sk, reason: `not dispatched: ${reason}` };
};
