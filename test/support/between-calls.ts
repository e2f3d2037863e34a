import { AsyncLocalStorage } from "node:async_hooks";

import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

type Stepping = { at: number; step: () => Promise<unknown>; calls: number };
type Send = (this: DynamoDBDocumentClient, command: unknown) => Promise<unknown>;

const steppings = new AsyncLocalStorage<Stepping>();
let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const prototype = DynamoDBDocumentClient.prototype as unknown as { send: Send };
  const whole = prototype.send;
  prototype.send = async function send(command) {
    const stepping = steppings.getStore();
    if (stepping && stepping.calls++ === stepping.at) await steppings.exit(stepping.step);
    return whole.call(this, command);
  };
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
