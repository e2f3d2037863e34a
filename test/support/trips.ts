import { AsyncLocalStorage } from "node:async_hooks";

import { hookCalls } from "./table-calls.ts";

const counting = new AsyncLocalStorage<{ trips: number }>();
let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async ({ operation, input }, next) => {
    const count = counting.getStore();
    // The charge of the caller's limit goes beside the other calls.
    if (!count || (operation === "UpdateItem" && input.Key?.["SK"] === "RATE")) return next();
    const trip = count.trips + 1;
    return next().finally(() => (count.trips = Math.max(count.trips, trip)));
  });
}

/** Runs something, and counts the longest row of its calls of the table in which each began after the one before ended. */
export async function countTrips<T>(run: () => Promise<T>): Promise<{ value: T; trips: number }> {
  install();
  const count = { trips: 0 };
  const value = await counting.run(count, run);
  return { value, trips: count.trips };
}
