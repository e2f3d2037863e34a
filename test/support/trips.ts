import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";

import { hookCalls } from "./table-calls.ts";

type Count = { trips: number; ends: Promise<unknown>[] };

const counting = new AsyncLocalStorage<Count>();
let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async ({ operation, input }, next) => {
    const count = counting.getStore();
    // The charge of the caller's limit runs beside the other calls.
    if (!count || (operation === "UpdateItem" && input.Key?.["SK"] === "RATE")) return next();
    const trip = count.trips + 1;
    // The reads of one turn of the event loop are sent at the end of the turn. The answer to a query of the same turn
    // may come earlier.
    const answer = next();
    const ended = Promise.allSettled([answer])
      .then(() => setImmediate())
      .then(() => (count.trips = Math.max(count.trips, trip)));
    count.ends.push(ended);
    await ended;
    return answer;
  });
}

/**
 * Runs `run`, and counts the longest sequence of its calls of the table in which each call began after the end of the
 * one before. Also waits for calls whose answers are not used.
 */
export async function countTrips<T>(run: () => Promise<T>): Promise<{ value: T; trips: number }> {
  install();
  const count: Count = { trips: 0, ends: [] };
  const value = await counting.run(count, run);
  await Promise.all(count.ends);
  await setImmediate();
  return { value, trips: count.trips };
}
