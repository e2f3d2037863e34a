import { AsyncLocalStorage } from "node:async_hooks";

import { TableClient } from "../../shared/table/client.ts";
import type { Input, TableOperation } from "../../shared/table/operations.ts";

/** One call of the table. */
export type TableCall = { [O in TableOperation]: { operation: O; input: Input<O> } }[TableOperation];

/** Stands around the calls of the table: it sees each call, and passes it on with `next`, changed if it wants. */
export type Hook = (
  call: TableCall,
  next: (call?: TableCall) => Promise<unknown>,
  bySdk: () => Promise<unknown>,
) => Promise<unknown>;

type Send = (this: TableClient, operation: TableOperation, input: unknown) => Promise<unknown>;

const hooks: Hook[] = [];

function install(): void {
  const prototype = TableClient.prototype as unknown as { send: Send; sendBySdk: Send };
  const { send, sendBySdk } = prototype;
  prototype.send = function hooked(operation, input) {
    const pass = (index: number, call: TableCall): Promise<unknown> => {
      const hook = hooks[index];
      if (!hook) return send.call(this, call.operation, call.input);
      return hook(
        call,
        (changed = call) => pass(index + 1, changed),
        () => sendBySdk.call(this, call.operation, call.input),
      );
    };
    return pass(0, { operation, input } as TableCall);
  };
}

/** Puts a hook around all calls of the table by this process. A hook that was added later stands further out. */
export function hookCalls(hook: Hook): void {
  if (hooks.length === 0) install();
  hooks.unshift(hook);
}

const isBySdk = new AsyncLocalStorage<true>();
let hasWay = false;

/** Runs something whose calls of the table go through the AWS SDK, as they do with `TABLE_LANE=sdk`. */
export function throughSdk<T>(run: () => Promise<T>): Promise<T> {
  if (!hasWay) hookCalls((_, next, bySdk) => (isBySdk.getStore() ? bySdk() : next()));
  hasWay = true;
  return isBySdk.run(true, run);
}

// As they are, also in a test that moves the clock.
const { Date: Clock, setTimeout: wait } = globalThis;
let committedAt = 0;

hookCalls(async ({ operation }, next) => {
  try {
    return await next();
  } finally {
    if (operation === "TransactWriteItems") committedAt = Clock.now();
  }
});

/**
 * Waits out the millisecond of the last transaction: no table over a network commits within one, and what is made in
 * the same one has no order.
 */
export async function afterCommits(): Promise<void> {
  while (Clock.now() === committedAt) await new Promise((resolve) => void wait(resolve, 1));
}
