import { AsyncLocalStorage } from "node:async_hooks";

import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";

import { hookCalls } from "./table-calls.ts";

/**
 * The faults of one call of the table. A call that is `throttled`, `in conflict` or `lost before` is not done. A call
 * with `answer lost` is done, and then fails. After `answer lost once`, the call is sent again. A `slow` call begins
 * 30 ms late.
 */
export const faults = ["throttled", "in conflict", "lost before", "answer lost once", "answer lost", "slow"] as const;
/** `answer unreadable`: the call is done, and then fails with an error that the table does not know. */
export type Fault = (typeof faults)[number] | "answer unreadable";

/** The position of a call among the calls of a run, or of a transaction among its transactions, counted from 0. */
type Place = number | { transaction: number };

/** The fault of a run at one call. `death` is a fault at this call and at all later calls. */
type Plan = { fault: Fault | "death" | undefined; at: Place; calls: string[] };

const plans = new AsyncLocalStorage<Plan>();
let isInstalled = false;

const failure = (name: string): Error => Object.assign(new Error(name), { name });

/** The error of a call that was not done, as it is after the SDK's own retries. */
function failing(fault: Fault, operation: string): Error | undefined {
  if (fault === "throttled") return failure("ProvisionedThroughputExceededException");
  if (fault === "lost before") return failure("TimeoutError");
  if (fault !== "in conflict") return undefined;
  if (operation !== "TransactWriteItems") return failure("TransactionConflictException");
  return new TransactionCanceledException({
    $metadata: {},
    message: "conflict",
    CancellationReasons: [{ Code: "TransactionConflict" }],
  });
}

/** The place of the latest call, and the planned place. Both count all calls, or only the transactions. */
function placesOf({ at, calls }: Plan): { place: number; planned: number } {
  if (typeof at === "number") return { place: calls.length - 1, planned: at };
  const transactions = calls.filter((call) => call === "TransactWriteItems");
  return { place: transactions.length - 1, planned: at.transaction };
}

/** Makes the calls of the table fail as the plan of their run says. */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async ({ operation }, next, bySdk) => {
    const plan = plans.getStore();
    if (!plan) return next();
    plan.calls.push(operation);
    const isCounted = typeof plan.at === "number" || operation === "TransactWriteItems";
    const { place, planned } = placesOf(plan);
    if (plan.fault === "death" && place >= planned) throw failure("TimeoutError");
    if (!isCounted || place !== planned || plan.fault === undefined || plan.fault === "death") return next();
    const before = failing(plan.fault, operation);
    if (before) throw before;
    if (plan.fault === "slow") await new Promise((resolve) => setTimeout(resolve, 30));
    const answer = await next();
    if (plan.fault === "answer lost") throw failure("TimeoutError");
    if (plan.fault === "answer unreadable") throw failure("SyntaxError");
    // Sends the call again, as after the loss of the first answer.
    return plan.fault === "answer lost once" ? bySdk() : answer;
  });
}

/**
 * Runs `run` with a fault at one of its calls. Returns its value and its calls. With `death`, the call and all later
 * calls fail.
 */
export async function withFault<T>(
  fault: Fault | "death" | undefined,
  at: Place,
  run: () => Promise<T>,
): Promise<{ value: T; calls: string[] }> {
  install();
  const plan: Plan = { fault, at, calls: [] };
  const value = await plans.run(plan, run);
  return { value, calls: plan.calls };
}
