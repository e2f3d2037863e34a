import { AsyncLocalStorage } from "node:async_hooks";

import type { Key } from "../../shared/table/writes.ts";
import { inAnotherProcess } from "./another-process.ts";
import { hookCalls, type TableCall } from "./table-calls.ts";

type Stepping = { at: number; step: () => Promise<unknown>; calls: number };

const steppings = new AsyncLocalStorage<Stepping>();
let isInstalled = false;

/**
 * Whether a call charges a caller's limit. All requests of the caller in this process wait for this call. If a step of
 * the same caller ran before this call, the step would never end.
 */
const isCharge = ({ operation, input }: TableCall): boolean =>
  operation === "UpdateItem" && (input.Key as Key).PK.startsWith("RATE#");

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async (call, next) => {
    const stepping = steppings.getStore();
    if (!stepping || isCharge(call)) return next();
    const place = stepping.calls;
    stepping.calls += 1;
    if (place === stepping.at) await steppings.exit(() => inAnotherProcess(stepping.step));
    return next();
  });
}

/**
 * Runs `run`, and runs `step` right before the call of the table at the place `at`, counted from 0. Calls that charge
 * limits do not count. Returns the value of `run`, and the number of calls.
 */
export async function withStep<T>(
  at: number,
  step: () => Promise<unknown>,
  run: () => Promise<T>,
): Promise<{ value: T; calls: number }> {
  install();
  const stepping: Stepping = { at, step, calls: 0 };
  const value = await steppings.run(stepping, run);
  return { value, calls: stepping.calls };
}
