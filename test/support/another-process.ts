import { AsyncLocalStorage } from "node:async_hooks";

import { TableClient } from "../../shared/table/client.ts";
import { newLocks, type Locks } from "../../shared/table/locks.ts";

const locksThere = new AsyncLocalStorage<Locks>();

const locksHere = Object.getOwnPropertyDescriptor(TableClient.prototype, "locks");
Object.defineProperty(TableClient.prototype, "locks", {
  get(this: TableClient) {
    return locksThere.getStore() ?? locksHere?.get?.call(this);
  },
});

/**
 * Runs `run` as if in another process: its transactions do not wait for the locks of this process. Without this, `run`
 * and a commit of this process that waits for `run` would wait for each other until a timeout.
 */
export const inAnotherProcess = <T>(run: () => Promise<T>): Promise<T> => locksThere.run(newLocks(), run);
