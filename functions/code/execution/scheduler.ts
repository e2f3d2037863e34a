import type { CheckedStatement } from "../checker/checker.ts";
import { type Effect, type Evaluation, type Items, type Scope, evaluate } from "../interpreter/interpreter.ts";
import type { Call } from "../language/ast.ts";
import { callLimit, stepLimit } from "../language/limits.ts";

/** A call that ran, with its value, or with its arguments and its error. */
type CallResult = { call: Call; value: unknown } | FailedCall;
export type FailedCall = { call: Call; args: ReadonlyMap<string, unknown>; error: unknown };

/** Makes a call; throws the call's error. */
export type Perform = (effect: Extract<Effect, { kind: "call" }>) => Promise<unknown>;

type RunOptions = {
  perform: Perform;
  /** The number of calls that may run at the same time; 1 runs statements strictly one after another. */
  concurrency: number;
  /** Tells whether a call writes. */
  writes: (call: Call) => boolean;
  session: ReadonlyMap<string, unknown>;
  /** Whether `perform` may answer with `unknownValue`. */
  mayBeUnknown?: boolean;
};

/**
 * The outcome of a program: its calls in source order, the values of completed statements, and the failure that ended
 * it.
 */
export type ProgramOutcome = { results: CallResult[]; values: unknown[]; failure?: { step: number; error: unknown } };

/** The calls of one step, and whether an earlier step has failed. */
type StepLog = { results: CallResult[]; isCancelled: () => boolean };

/** Cancels a step because an earlier one has failed. */
class Cancelled extends Error {}

type Done = { completed: boolean };

/**
 * Runs the steps of a program, with the same result as running them one after another.
 * - Steps and items of comprehensions that only read run at the same time. They wait for the values that they need, and
 *   for all earlier writes.
 * - A step that writes waits for all earlier steps, so that no read sees a later write.
 * - After a failure no later step begins, and the results of later reads are dropped.
 */
export async function runSteps(steps: readonly CheckedStatement[], options: RunOptions): Promise<ProgramOutcome> {
  const limits = { acquire: semaphore(options.concurrency), budget: { steps: stepLimit, calls: callLimit } };
  const logs: CallResult[][] = [];
  const values: unknown[] = [];
  const failures = new Map<number, unknown>();
  let first = Number.POSITIVE_INFINITY;
  const done: Promise<Done>[] = [];
  let before: Promise<unknown> = Promise.resolve();
  let written: Promise<unknown> = Promise.resolve();
  for (const [place, { statement, needs, writes }] of steps.entries()) {
    const isBarrier = writes || options.concurrency === 1;
    const needed = [...needs.values()].flatMap((index) => done[index ?? -1] ?? []);
    const dependencies: Promise<unknown>[] = isBarrier ? [before] : [written, ...needed];
    const log: StepLog = { results: (logs[place] = []), isCancelled: () => first < place };
    const runStep = async (): Promise<Done> => {
      await Promise.all(dependencies);
      if (log.isCancelled()) return { completed: false };
      const variables = new Map(
        [...needs].map(([name, index]) => [name, index === undefined ? options.session.get(name) : values[index]]),
      );
      const scope: Scope = { variables, budget: limits.budget, mayBeUnknown: options.mayBeUnknown ?? false };
      try {
        values[place] = await runToEnd(evaluate(statement.value, scope), log, { ...options, ...limits });
        return { completed: true };
      } catch (error) {
        if (!(error instanceof Cancelled)) {
          failures.set(place, error);
          first = Math.min(first, place);
        }
        return { completed: false };
      }
    };
    const run = runStep();
    done.push(run);
    before = Promise.all([before, run]);
    if (isBarrier) written = run;
  }
  await before;
  if (first === Number.POSITIVE_INFINITY) return { results: logs.flat(), values };
  return {
    results: logs.slice(0, first + 1).flat(),
    values: values.slice(0, first),
    failure: { step: first, error: failures.get(first) },
  };
}

type RunContext = RunOptions & { acquire: Semaphore };

/** Drives an evaluation to its end and makes the calls it yields. */
async function runToEnd<T>(run: Evaluation<T>, log: StepLog, context: RunContext): Promise<T> {
  let given: unknown;
  for (;;) {
    const next = run.next(given);
    if (next.done) return next.value;
    const effect = next.value;
    given = effect.kind === "call" ? await makeCall(effect, log, context) : await runEach(effect, log, context);
  }
}

async function makeCall(
  effect: Extract<Effect, { kind: "call" }>,
  log: StepLog,
  context: RunContext,
): Promise<unknown> {
  const release = await context.acquire();
  try {
    if (log.isCancelled()) throw new Cancelled();
    const value = await context.perform(effect);
    log.results.push({ call: effect.call, value });
    return value;
  } catch (error) {
    if (!(error instanceof Cancelled)) log.results.push({ call: effect.call, args: effect.args, error });
    throw error;
  } finally {
    release();
  }
}

/** Runs the items of a comprehension: at the same time if they only read, else one after another. */
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
  let first = Number.POSITIVE_INFINITY;
  const logs = runs.map((_, place): StepLog => ({
    results: [],
    isCancelled: () => first < place || log.isCancelled(),
  }));
  const settled = await Promise.allSettled(
    logs.map(async (inner, place) => {
      const run = runs[place];
      try {
        return run ? await runToEnd(run, inner, context) : [];
      } catch (error) {
        first = Math.min(first, place);
        throw error;
      }
    }),
  );
  for (const [place, one] of settled.entries()) {
    log.results.push(...(logs[place]?.results ?? []));
    if (one.status === "rejected") throw one.reason;
    results.push(one.value);
  }
  return results;
}

type Semaphore = () => Promise<() => void>;

/**
 * Creates `slots` slots, handed out in order of request. The returned function waits for a slot and resolves to its
 * release.
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
