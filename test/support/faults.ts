import { AsyncLocalStorage } from "node:async_hooks";

import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";

import { runtime } from "../../shared/http/runtime.ts";
import { throughSdk } from "./short-cut.ts";

/** What can go wrong with one call of the table. */
export const faults = ["throttled", "in conflict", "lost before", "answer lost once", "answer lost", "slow"] as const;
export type Fault = (typeof faults)[number];

/** What befalls the calls of one request: a fault at the call with this place, the first being 0; or all from there on. */
type Plan = { fault: Fault | "death" | undefined; at: number; calls: string[]; attempts: number };

const plans = new AsyncLocalStorage<Plan>();
let isInstalled = false;

const failure = (name: string): Error => Object.assign(new Error(name), { name });

/** Throttling, and an answer that never comes, as they are once the SDK has tried as often as it does. */
function failing(fault: Fault, command: string): Error | undefined {
  if (fault === "throttled") return failure("ProvisionedThroughputExceededException");
  if (fault === "lost before") return failure("TimeoutError");
  if (fault !== "in conflict") return undefined;
  if (command !== "TransactWriteItemsCommand") return failure("TransactionConflictException");
  return new TransactionCanceledException({
    $metadata: {},
    message: "conflict",
    CancellationReasons: [{ Code: "TransactionConflict" }],
  });
}

/** Puts faults between the SDK's client and the engine: around all attempts of a call, and around each. */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const { middlewareStack } = runtime().client;
  middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const plan = plans.getStore();
        if (!plan) return next(args);
        const place = plan.calls.push(commandName) - 1;
        plan.attempts = 0;
        if (plan.fault === "death" && place >= plan.at) throw failure("TimeoutError");
        if (place !== plan.at || plan.fault === undefined || plan.fault === "death") return next(args);
        const before = failing(plan.fault, commandName);
        if (before) throw before;
        if (plan.fault === "slow") await new Promise((resolve) => setTimeout(resolve, 30));
        const answer = await next(args);
        if (plan.fault === "answer lost") throw failure("TimeoutError");
        return answer;
      },
    { step: "initialize", name: "faults", priority: "high" },
  );
  middlewareStack.add(
    (next) => async (args) => {
      const plan = plans.getStore();
      const answer = await next(args);
      const isChosen = plan?.fault === "answer lost once" && plan.calls.length - 1 === plan.at;
      if (plan && isChosen && plan.attempts++ === 0) throw failure("TimeoutError");
      return answer;
    },
    { step: "finalizeRequest", name: "lost answers", priority: "low" },
  );
}

/**
 * Runs something with a fault at one of its calls; answers what came of it and which calls it made. A process that dies
 * makes none from that call on.
 */
export async function withFault<T>(
  fault: Fault | "death" | undefined,
  at: number,
  run: () => Promise<T>,
): Promise<{ value: T; calls: string[] }> {
  install();
  const plan: Plan = { fault, at, calls: [], attempts: 0 };
  const value = await plans.run(plan, () => throughSdk(run));
  return { value, calls: plan.calls };
}
