import { AsyncLocalStorage } from "node:async_hooks";

import { TableClient } from "../../shared/table/client.ts";
import type { Input, TableOperation } from "../../shared/table/operations.ts";

/** One call of the table. */
export type TableCall = { [O in TableOperation]: { operation: O; input: Input<O> } }[TableOperation];

/**
 * A function around each call of the table. It passes the call on with `next`, unchanged or changed, or sends the call
 * with `bySdk` through the AWS SDK.
 */
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

/** Adds a hook around all calls of the table by this process. A later hook is called first. */
export function hookCalls(hook: Hook): void {
  if (hooks.length === 0) install();
  hooks.unshift(hook);
}

const isBySdk = new AsyncLocalStorage<true>();
let hasSdkHook = false;

/** Runs `run`. Its calls of the table go through the AWS SDK, as with `TABLE_LANE=sdk`. */
export function throughSdk<T>(run: () => Promise<T>): Promise<T> {
  if (!hasSdkHook) hookCalls((_, next, bySdk) => (isBySdk.getStore() ? bySdk() : next()));
  hasSdkHook = true;
  return isBySdk.run(true, run);
}

// The real clock and timer, also in a test that moves the clock.
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
 * Waits until the millisecond of the last transaction is over. No table over a network commits within a millisecond.
 * Items of the same millisecond have no order.
 */
export async function afterCommits(): Promise<void> {
  while (Clock.now() === committedAt) await new Promise((resolve) => void wait(resolve, 1));
}
