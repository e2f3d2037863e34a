import type { CheckedStatement } from "../checker/checker.ts";
import { type Effect, type Evaluation, type Items, type Scope, evaluate } from "../interpreter/interpreter.ts";
import type { Call } from "../language/ast.ts";
import { callLimit, stepLimit } from "../language/limits.ts";

/** A call that ran, with its value, or with its arguments and its error. */
type CallResult = { call: Call; value: unknown } | FailedCall;
export type FailedCall = { call: Call; args: ReadonlyMap<string, unknown>; error: unknown };

/** Makes a call and returns its answer. Throws the call's error. */
export type Perform = (effect: Extract<Effect, { kind: "call" }>) => Promise<unknown>;

type RunOptions = {
  perform: Perform;
  /** The most calls that run at the same time. With 1, statements run strictly one after another. */
  concurrency: number;
  /** Tells whether a call writes. */
  writes: (call: Call) => boolean;
  session: ReadonlyMap<string, unknown>;
  /** Whether `perform` may answer with `unknownValue`. */
  mayBeUnknown?: boolean;
};

/**
 * The outcome of a program: its calls in source order, the values of the statements that completed, and the failure
 * that ended the program.
 */
export type ProgramOutcome = { results: CallResult[]; values: unknown[]; failure?: { step: number; error: unknown } };

/** The calls of one step or of one item, and whether an earlier step or item has failed. */
type StepLog = { results: CallResult[]; isAborted: () => boolean };

/** Ends a step because an earlier step or item has failed. */
class Aborted extends Error {}

type Done = { completed: boolean };

/**
 * Whether a step and the earlier steps that are not over may together make more calls than are left. `running` has the
 * most calls of each step that is not over, by its index.
 */
function mayExceed(running: ReadonlyMap<number, number>, index: number, callsLeft: number): boolean {
  const earlier = [...running].filter(([other]) => other < index).map(([, calls]) => calls);
  const own = running.get(index) ?? 0;
  return own > 0 && earlier.length > 0 && earlier.reduce((sum, calls) => sum + calls, own) > callsLeft;
}

/** The runs of the steps that assign the variables `needs`. A variable of the session has no step to wait for. */
const neededRuns = (needs: CheckedStatement["needs"], runs: readonly Promise<Done>[]): Promise<Done>[] =>
  [...needs.values()].flatMap((step) => (step === undefined ? [] : (runs[step] ?? [])));

/**
 * Runs the steps of a program, with the same result as running them one after another.
 * - Steps that only read, and items of comprehensions that only read, run at the same time. They wait for the values
 *   that they need, and for all earlier writes.
 * - A step that writes waits for all earlier steps, so that no read sees a later write.
 * - A step waits for all earlier steps if it and the running earlier steps might together make more calls than are
 *   left. So an earlier step never fails because a later step has used up the calls.
 * - After a failure no later step begins, and the results of later reads are dropped.
 */
export async function runSteps(steps: readonly CheckedStatement[], options: RunOptions): Promise<ProgramOutcome> {
  const limits = { acquire: semaphore(options.concurrency), budget: { steps: stepLimit, calls: callLimit } };
  const logs: CallResult[][] = [];
  const values: unknown[] = [];
  const failures = new Map<number, unknown>();
  let firstFailed = Number.POSITIVE_INFINITY;
  const runs: Promise<Done>[] = [];
  let allBefore: Promise<unknown> = Promise.resolve();
  let lastBarrier: Promise<unknown> = Promise.resolve();
  const running = new Map<number, number>();
  for (const [index, { statement, needs, writes, mostCalls }] of steps.entries()) {
    const isBarrier = writes || options.concurrency === 1;
    const earlier = allBefore;
    const dependencies: Promise<unknown>[] = isBarrier ? [allBefore] : [lastBarrier, ...neededRuns(needs, runs)];
    const results: CallResult[] = [];
    logs[index] = results;
    const log: StepLog = { results, isAborted: () => firstFailed < index };
    const runStep = async (): Promise<Done> => {
      await Promise.all(dependencies);
      if (mayExceed(running, index, limits.budget.calls)) await earlier;
      if (log.isAborted()) return { completed: false };
      const variables = new Map(
        [...needs].map(([name, step]) => [name, step === undefined ? options.session.get(name) : values[step]]),
      );
      const scope: Scope = { variables, budget: limits.budget, mayBeUnknown: options.mayBeUnknown ?? false };
      try {
        values[index] = await runToEnd(evaluate(statement.value, scope), log, { ...options, ...limits });
        return { completed: true };
      } catch (error) {
        if (!(error instanceof Aborted)) {
          failures.set(index, error);
          firstFailed = Math.min(firstFailed, index);
        }
        return { completed: false };
      }
    };
    running.set(index, mostCalls);
    const run = runStep().finally(() => running.delete(index));
    runs.push(run);
    allBefore = Promise.all([allBefore, run]);
    if (isBarrier) lastBarrier = run;
  }
  await allBefore;
  if (firstFailed === Number.POSITIVE_INFINITY) return { results: logs.flat(), values };
  return {
    results: logs.slice(0, firstFailed + 1).flat(),
    values: values.slice(0, firstFailed),
    failure: { step: firstFailed, error: failures.get(firstFailed) },
  };
}

type RunContext = RunOptions & { acquire: Semaphore };

/** Drives an evaluation to its end, and makes the calls that the evaluation yields. */
async function runToEnd<T>(run: Evaluation<T>, log: StepLog, context: RunContext): Promise<T> {
  let answer: unknown;
  for (;;) {
    const next = run.next(answer);
    if (next.done) return next.value;
    const effect = next.value;
    answer = effect.kind === "call" ? await makeCall(effect, log, context) : await runEach(effect, log, context);
  }
}

async function makeCall(
  effect: Extract<Effect, { kind: "call" }>,
  log: StepLog,
  context: RunContext,
): Promise<unknown> {
  const release = await context.acquire();
  try {
    if (log.isAborted()) throw new Aborted();
    const value = await context.perform(effect);
    log.results.push({ call: effect.call, value });
    return value;
  } catch (error) {
    if (!(error instanceof Aborted)) log.results.push({ call: effect.call, args: effect.args, error });
    throw error;
  } finally {
    release();
  }
}

/**
 * Runs the items of a comprehension: one after another if they write, else up to `concurrency` items at the same time.
 * More items at the same time would only wait, because at most `concurrency` calls run at the same time. The items
 * begin in order. No item begins after a failure.
 */
async function runEach(
  { runs, calls }: Extract<Effect, { kind: "each" }>,
  log: StepLog,
  context: RunContext,
): Promise<Items[]> {
  const results: Items[] = [];
  if (context.concurrency === 1 || calls.some(context.writes)) {
    for (const run of runs) results.push(await runToEnd(run, log, context));
    return results;
  }
  let firstFailed = Number.POSITIVE_INFINITY;
  let failure: unknown;
  const logs: CallResult[][] = [];
  const remaining = runs.entries();
  const runItems = async (): Promise<void> => {
    for (const [index, run] of remaining) {
      const itemResults: CallResult[] = [];
      logs[index] = itemResults;
      const itemLog: StepLog = { results: itemResults, isAborted: () => firstFailed < index || log.isAborted() };
      try {
        results[index] = await runToEnd(run, itemLog, context);
      } catch (error) {
        if (index < firstFailed) [firstFailed, failure] = [index, error];
      }
      if (firstFailed < Number.POSITIVE_INFINITY) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(context.concurrency, runs.length) }, runItems));
  log.results.push(...logs.slice(0, firstFailed + 1).flat());
  if (firstFailed < Number.POSITIVE_INFINITY) throw failure;
  return results;
}

type Semaphore = () => Promise<() => void>;

/**
 * Creates a semaphore with `slots` slots, which are given out in order of request. The returned function waits for a
 * slot, and resolves to a function that frees the slot.
 */
function semaphore(slots: number): Semaphore {
  let left = slots;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else left += 1;
  };
  return async () => {
    if (left > 0) left -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return release;
  };
}
