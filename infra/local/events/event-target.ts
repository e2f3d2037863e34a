import { setTimeout as delay } from "node:timers/promises";

import type { EventBridgeEvent } from "aws-lambda";

import { handler as dispatchEvent } from "../../../functions/workers/dispatch-event.ts";
import { handler as makeMailboxExport } from "../../../functions/workers/make-mailbox-export.ts";
import { handler as sendVerification } from "../../../functions/workers/send-verification.ts";
import { workers } from "../../entry-points.ts";
import type { EventQueue, QueuedEvent } from "./event-queue.ts";
import { type Poller, startPoller } from "./poller.ts";

type Lane = { waiting: string[]; running: number };

type LanesOptions = {
  /** How many run at a time. */
  atOnce: number;
  /** How many of them may be in one lane. */
  perLane: number;
  /** Must not reject. */
  run: (id: string) => Promise<void>;
};

type Lanes = {
  /** Has it run as soon as there is a place; what waits or runs already is not taken twice. */
  add: (lane: string, id: string) => void;
  /** The ids that wait or run. */
  ids: () => ReadonlySet<string>;
  /** Begins nothing more; resolves when what runs has ended. */
  stop: () => Promise<void>;
};

/**
 * Work that waits in lanes: in order within a lane, the lanes in turn, and the next as soon as one has ended. A lane with
 * much to do, or with work that does not end, holds up no other.
 */
export function openLanes({ atOnce, perLane, run }: LanesOptions): Lanes {
  const lanes = new Map<string, Lane>();
  const known = new Set<string>();
  const running = new Set<Promise<void>>();
  let isStopping = false;

  function begin(name: string, lane: Lane, id: string): void {
    lane.running += 1;
    const ended = run(id).then(() => {
      running.delete(ended);
      known.delete(id);
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
      // To the end of the row, where this loop comes to it once more after all the others.
      lanes.delete(name);
      lanes.set(name, lane);
      begin(name, lane, id);
    }
  }

  return {
    add: (name, id) => {
      if (known.has(id)) return;
      known.add(id);
      const lane = lanes.get(name) ?? { waiting: [], running: 0 };
      lanes.set(name, lane);
      lane.waiting.push(id);
      fill();
    },
    ids: () => known,
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
    },
  };
}

export type EventTargetOptions = {
  queue: EventQueue;
  handler: (event: EventBridgeEvent<string, QueuedEvent>) => Promise<void>;
  /** Hears, with the last reason, of an event that was given up. A rejection of it leaves the event in the queue. */
  onGivenUp: (event: QueuedEvent, reason: string) => Promise<void>;
  onError: (error: unknown) => void;
  /** How many events the handler has at a time. */
  atOnce?: number;
  /** How many of them may be of one account. */
  perAccount?: number;
  retries?: number;
  /** Before the first retry; it doubles from one to the next. */
  retryDelayMs?: number;
};

/** Between two looks for events that another process put into the queue. */
const idleMs = 10_000;

/**
 * A rule's target, done in this process: the handler is called with every event of the queue, many at a time, so
 * that a slow one holds up no other, but few of one account, so that none has all the places; and again when it
 * fails. An event leaves the queue when it is dealt with: one that a crash interrupts comes again. `stop` waits for
 * the calls at hand.
 */
export function startEventTarget(options: EventTargetOptions): Poller {
  const { queue, onError, atOnce = 32, perAccount = 4 } = options;
  const stopping = new AbortController();
  const lanes = openLanes({
    atOnce,
    perLane: perAccount,
    // What could not be handed over stays in the queue for the next look.
    run: (id) => handOver(id, options, stopping.signal).catch(onError),
  });
  const poller = startPoller({
    idleMs,
    onError,
    work: async () => {
      // Before the queue is read: what ends meanwhile is not begun again.
      const before = new Set(lanes.ids());
      for (const id of await queue.ids()) {
        if (stopping.signal.aborted) return;
        if (!before.has(id)) lanes.add(await accountOf(queue, id), id);
      }
    },
  });
  return {
    wake: poller.wake,
    stop: async () => {
      stopping.abort();
      await poller.stop();
      await lanes.stop();
    },
  };
}

/** The account of an event; an event that cannot be read has an account of its own. */
const accountOf = async (queue: EventQueue, id: string): Promise<string> =>
  (await queue.read(id).catch(() => undefined))?.account_id ?? id;

async function handOver(id: string, options: EventTargetOptions, stopping: AbortSignal): Promise<void> {
  const { queue, handler, onGivenUp, retries = 2, retryDelayMs = 1_000 } = options;
  const event = await queue.read(id);
  for (let tries = 1; !stopping.aborted; tries++) {
    const reason = await call(handler, event);
    if (reason === undefined) return queue.remove(id);
    if (tries > retries) {
      await onGivenUp(event, reason);
      return queue.remove(id);
    }
    await delay(retryDelayMs * 2 ** (tries - 1), undefined, { signal: stopping }).catch(() => undefined);
  }
}

/** Why the handler failed; undefined when it did not. */
async function call(handler: EventTargetOptions["handler"], event: QueuedEvent): Promise<string | undefined> {
  try {
    await handler(envelopeOf(event));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** An event as EventBridge hands it to a function. */
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
