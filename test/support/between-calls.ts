import { AsyncLocalStorage } from "node:async_hooks";

import { hookCalls } from "./table-calls.ts";

type Stepping = { at: number; step: () => Promise<unknown>; calls: number };

const steppings = new AsyncLocalStorage<Stepping>();
let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async (_, next) => {
    const stepping = steppings.getStore();
    if (stepping && stepping.calls++ === stepping.at) await steppings.exit(stepping.step);
    return next();
  });
}

/**
 * Runs something, and a step by somebody else right before its call of the table with this place, the first being 0.
 * Answers how many calls it made.
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
