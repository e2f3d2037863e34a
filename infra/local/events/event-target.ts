import { setTimeout as delay } from "node:timers/promises";

import type { EventBridgeEvent } from "aws-lambda";

import { handler as dispatchEvent } from "../../../functions/workers/dispatch-event.ts";
import { handler as makeMailboxExport } from "../../../functions/workers/make-mailbox-export.ts";
import { handler as noteRevocations } from "../../../functions/workers/note-revocations.ts";
import { handler as sendInvitation } from "../../../functions/workers/send-invitation.ts";
import { handler as sendNotices } from "../../../functions/workers/send-notices.ts";
import { handler as sendVerification } from "../../../functions/workers/send-verification.ts";
import { handler as watchWallets } from "../../../functions/workers/watch-wallets.ts";
import { workers } from "../../entry-points.ts";
import type { EventQueue, QueuedEvent } from "./event-queue.ts";
import { type Poller, startPoller } from "./poller.ts";

type Lane = { waiting: string[]; running: number };

type LanesOptions = {
  /** The most tasks that run at the same time. */
  atOnce: number;
  /** The most tasks of one lane that run at the same time. */
  perLane: number;
  /** Must not reject. */
  run: (id: string) => Promise<void>;
};

type Lanes = {
  /** Queues a task. The task runs as soon as the limits allow it. Does nothing if the task already waits or runs. */
  add: (lane: string, id: string) => void;
  /** The ids of the tasks that wait or run. */
  ids: () => ReadonlySet<string>;
  /** Starts no more tasks. Resolves when the running tasks have ended. */
  stop: () => Promise<void>;
};

/**
 * Runs tasks that wait in lanes. The tasks of one lane begin in order, and the lanes take turns. A lane with many or
 * slow tasks does not block the other lanes.
 */
export function openLanes({ atOnce, perLane, run }: LanesOptions): Lanes {
  const lanes = new Map<string, Lane>();
  const activeIds = new Set<string>();
  const running = new Set<Promise<void>>();
  let isStopping = false;

  function begin(name: string, lane: Lane, id: string): void {
    lane.running += 1;
    const ended = run(id).then(() => {
      running.delete(ended);
      activeIds.delete(id);
      lane.running -= 1;
      if (lane.running === 0 && lane.waiting.length === 0) lanes.delete(name);
      fill();
    });
    running.add(ended);
  }

  function fill(): void {
    for (const [name, lane] of lanes) {
      if (isStopping || running.size >= atOnce) return;
      const id = lane.running < perLane ? lane.waiting.shift() : undefined;
      if (id === undefined) continue;
      // Moves the lane to the end. So this loop reaches all other lanes first.
      lanes.delete(name);
      lanes.set(name, lane);
      begin(name, lane, id);
    }
  }

  return {
    add: (name, id) => {
      if (activeIds.has(id)) return;
      activeIds.add(id);
      const lane = lanes.get(name) ?? { waiting: [], running: 0 };
      lanes.set(name, lane);
      lane.waiting.push(id);
      fill();
    },
    ids: () => activeIds,
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
    },
  };
}

export type EventTargetOptions = {
  queue: EventQueue;
  handler: (event: EventBridgeEvent<string, QueuedEvent>) => Promise<void>;
  /**
   * Called with an event whose retries have all failed, and the message of the last error. If `onGivenUp` rejects, the
   * event stays in the queue.
   */
  onGivenUp: (event: QueuedEvent, reason: string) => Promise<void>;
  onError: (error: unknown) => void;
  /** The most events that are handled at the same time. By default 32. */
  atOnce?: number;
  /** The most events of one account that are handled at the same time. By default 8. */
  perAccount?: number;
  retries?: number;
  /** The delay before the first retry, in milliseconds. By default 1,000. Each retry doubles the delay. */
  retryDelayMs?: number;
};

/** The time between two checks of the queue, in milliseconds. Other processes may add events to the queue. */
const idleMs = 10_000;

/** The most waiting events that are kept in memory. Further events are read from the queue. */
const mostHeld = 1_000;

export type EventTarget = Omit<Poller, "run"> & {
  /** Stores an event in the queue, and handles it without waiting for the next check of the queue. */
  add: (event: QueuedEvent) => Promise<void>;
};

/**
 * Runs a rule's target in this process: calls the handler with every event of the queue.
 * - Handles up to `atOnce` events at the same time. So a slow event does not block others. Only `perAccount` of these
 *   events may be of one account. So no account blocks the others.
 * - Retries a failed event. An event leaves the queue only after it was handled or given up. So an event that a crash
 *   interrupted is handled again.
 * - `stop` waits for running calls.
 */
export function startEventTarget(options: EventTargetOptions): EventTarget {
  const { queue, onError, atOnce = 32, perAccount = 8 } = options;
  const held = new Map<string, QueuedEvent>();
  /** The ids that `add` has stored since the last check began. A check must not start these events a second time. */
  const added = new Set<string>();
  const stopping = new AbortController();
  const lanes = openLanes({
    atOnce,
    perLane: perAccount,
    // An event that could not be delivered stays in the queue until the next check.
    run: async (id) => {
      try {
        await deliverEvent(held.get(id) ?? (await queue.read(id)), options, stopping.signal);
      } catch (error) {
        onError(error);
      } finally {
        held.delete(id);
      }
    },
  });
  const poller = startPoller({
    idleMs,
    onError,
    work: async () => {
      // The ids are copied before the queue is read. Without the copy, an event that finishes in the meantime would
      // start again.
      const before = new Set([...lanes.ids(), ...added]);
      for (const id of await queue.ids()) {
        if (stopping.signal.aborted) return;
        if (!before.has(id) && !added.has(id)) lanes.add(await accountOf(queue, id), id);
      }
      for (const id of before) added.delete(id);
    },
  });
  return {
    add: async (event) => {
      const { id, account_id } = event;
      added.add(id);
      await queue.put(event);
      if (held.size < mostHeld) held.set(id, event);
      lanes.add(account_id, id);
    },
    wake: poller.wake,
    stop: async () => {
      stopping.abort();
      await poller.stop();
      await lanes.stop();
    },
  };
}

/** The account of an event. For an unreadable event, the id of the event instead. */
const accountOf = async (queue: EventQueue, id: string): Promise<string> =>
  (await queue.read(id).catch(() => undefined))?.account_id ?? id;

async function deliverEvent(event: QueuedEvent, options: EventTargetOptions, stopping: AbortSignal): Promise<void> {
  const { queue, handler, onGivenUp, retries = 2, retryDelayMs = 1_000 } = options;
  for (let tries = 1; !stopping.aborted; tries++) {
    const reason = await callHandler(handler, event);
    if (reason === undefined) return queue.remove(event.id);
    if (tries > retries) {
      await onGivenUp(event, reason);
      return queue.remove(event.id);
    }
    await delay(retryDelayMs * 2 ** (tries - 1), undefined, { signal: stopping }).catch(() => undefined);
  }
}

/** Calls the handler. Returns the message of its error, or undefined on success. */
async function callHandler(handler: EventTargetOptions["handler"], event: QueuedEvent): Promise<string | undefined> {
  try {
    await handler(envelopeOf(event));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Wraps an event in the envelope in which EventBridge passes events to a function. */
const envelopeOf = (event: QueuedEvent): EventBridgeEvent<string, QueuedEvent> => ({
  version: "0",
  id: event.id,
  source: "hosted-mail",
  account: "000000000000",
  region: "local",
  time: event.timestamp,
  resources: [`${event.resource.type}/${event.resource.id}`],
  "detail-type": event.type,
  detail: event,
});

type Handler = (event: EventBridgeEvent<string, QueuedEvent>) => Promise<void>;

/** The workers that get only events of certain types. */
export const eventHandlers: Readonly<Record<string, Handler>> = {
  "workers.make_mailbox_export": makeMailboxExport,
  "workers.note_revocations": noteRevocations,
  "workers.watch_wallets": watchWallets,
  "workers.send_verification": sendVerification,
  "workers.send_invitation": sendInvitation,
  "workers.send_notices": sendNotices,
};

/**
 * The types of events that a worker's rule on the deployed bus matches. Empty for a worker that gets all events, and
 * for a worker with another trigger.
 */
function typesFor(name: string): readonly string[] {
  const source = workers.find((worker) => worker.name === name)?.source;
  return typeof source === "object" && "events" in source && source.events !== "all" ? source.events : [];
}

/**
 * Calls every worker whose rule matches an event, like the deployed bus. If one worker fails, the retry calls all these
 * workers again. Workers tolerate repeated events.
 */
export async function callTargets(event: EventBridgeEvent<string, QueuedEvent>): Promise<void> {
  await dispatchEvent(event);
  for (const [name, handler] of Object.entries(eventHandlers)) {
    if (typesFor(name).includes(event["detail-type"])) await handler(event);
  }
}
