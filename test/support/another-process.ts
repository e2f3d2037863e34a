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
 * Runs `run` as in another process: its transactions do not wait for the locks of this process. In this process, a
 * transaction that waits for a commit which itself waits for `run` would wait until its time is over.
 */
export const inAnotherProcess = <T>(run: () => Promise<T>): Promise<T> => locksThere.run(newLocks(), run);
