import type { CheckedStatement } from "../checker/checker.ts";
import { stepLimit } from "../interpreter/budget.ts";
import { type Effect, type Evaluation, type Scope, evaluate } from "../interpreter/interpreter.ts";
import type { Call } from "../language/ast.ts";

/** A call that ran, with its value, or with its arguments and its error. */
type CallResult = { call: Call; value: unknown } | Failed;
export type Failed = { call: Call; args: ReadonlyMap<string, unknown>; error: unknown };

/** Makes a call; throws the call's error. */
export type Perform = (effect: Extract<Effect, { kind: "call" }>) => Promise<unknown>;

type RunOptions = {
  perform: Perform;
  /** The number of calls that may run at the same time; 1 runs statements strictly one after another. */
  atOnce: number;
  /** Tells whether a call writes. */
  writes: (call: Call) => boolean;
  session: ReadonlyMap<string, unknown>;
};

/**
 * The outcome of a program: its calls in source order, the values of completed statements, and the failure that ended
 * it.
 */
export type ProgramOutcome = { ran: CallResult[]; values: unknown[]; failure?: { step: number; error: unknown } };

/** The calls of one step, and whether an earlier step has failed. */
type StepLog = { ran: CallResult[]; isOver: () => boolean };

/** Cancels a step because an earlier one has failed. */
class Over extends Error {}

type Done = { completed: boolean };

/**
 * Runs the steps of a program, with the same result as running them one after another.
 * - Steps and items of comprehensions that only read run at the same time, once the values they need and all earlier
 *   writes are there.
 * - A step that writes waits for all earlier steps, so that no read sees a later write.
 * - After a failure no later step begins, and the results of later reads are dropped.
 */
export async function runSteps(steps: readonly CheckedStatement[], options: RunOptions): Promise<ProgramOutcome> {
  const limits = { slots: slotsOf(options.atOnce), work: { steps: stepLimit } };
  const lanes: CallResult[][] = [];
  const values: unknown[] = [];
  const failures = new Map<number, unknown>();
  let first = Number.POSITIVE_INFINITY;
  const done: Promise<Done>[] = [];
  let before: Promise<unknown> = Promise.resolve();
  let written: Promise<unknown> = Promise.resolve();
  for (const [place, { statement, needs, writes }] of steps.entries()) {
    const isBarrier = writes || options.atOnce === 1;
    const needed = [...needs.values()].flatMap((index) => done[index ?? -1] ?? []);
    const wanted: Promise<unknown>[] = isBarrier ? [before] : [written, ...needed];
    const lane: StepLog = { ran: (lanes[place] = []), isOver: () => first < place };
    const run = async (): Promise<Done> => {
      await Promise.all(wanted);
      if (lane.isOver()) return { completed: false };
      const variables = new Map(
        [...needs].map(([name, index]) => [name, index === undefined ? options.session.get(name) : values[index]]),
      );
      const scope: Scope = { variables, work: limits.work };
      try {
        values[place] = await runToEnd(evaluate(statement.value, scope), lane, { ...options, ...limits });
        return { completed: true };
      } catch (error) {
        if (!(error instanceof Over)) {
          failures.set(place, error);
          first = Math.min(first, place);
        }
        return { completed: false };
      }
    };
    const mine = run();
    done.push(mine);
    before = Promise.all([before, mine]);
    if (isBarrier) written = mine;
  }
  await before;
  if (first === Number.POSITIVE_INFINITY) return { ran: lanes.flat(), values };
  return {
    ran: lanes.slice(0, first + 1).flat(),
    values: values.slice(0, first),
    failure: { step: first, error: failures.get(first) },
  };
}

type Machine = RunOptions & { slots: Slots };

/** Drives an evaluation to its end and makes the calls it yields. */
async function runToEnd<T>(run: Evaluation<T>, lane: StepLog, machine: Machine): Promise<T> {
  let given: unknown;
  for (;;) {
    const next = run.next(given);
    if (next.done) return next.value;
    const effect = next.value;
    given = effect.kind === "call" ? await makeCall(effect, lane, machine) : await runEach(effect, lane, machine);
  }
}

async function makeCall(effect: Extract<Effect, { kind: "call" }>, lane: StepLog, machine: Machine): Promise<unknown> {
  const free = await machine.slots();
  try {
    if (lane.isOver()) throw new Over();
    const value = await machine.perform(effect);
    lane.ran.push({ call: effect.call, value });
    return value;
  } catch (error) {
    if (!(error instanceof Over)) lane.ran.push({ call: effect.call, args: effect.args, error });
    throw error;
  } finally {
    free();
  }
}

/** Runs the items of a comprehension: at the same time if they only read, else one after another. */
async function runEach(
  { runs, calls }: Extract<Effect, { kind: "each" }>,
  lane: StepLog,
  machine: Machine,
): Promise<unknown[][]> {
  const results: unknown[][] = [];
  if (machine.atOnce === 1 || calls.some(machine.writes)) {
    for (const run of runs) results.push(await runToEnd(run, lane, machine));
    return results;
  }
  let first = Number.POSITIVE_INFINITY;
  const lanes = runs.map((_, place): StepLog => ({ ran: [], isOver: () => first < place || lane.isOver() }));
  const settled = await Promise.allSettled(
    lanes.map(async (inner, place) => {
      const run = runs[place];
      try {
        return run ? await runToEnd(run, inner, machine) : [];
      } catch (error) {
        first = Math.min(first, place);
        throw error;
      }
    }),
  );
  for (const [place, one] of settled.entries()) {
    lane.ran.push(...(lanes[place]?.ran ?? []));
    if (one.status === "rejected") throw one.reason;
    results.push(one.value);
  }
  return results;
}

type Slots = () => Promise<() => void>;

/**
 * Creates `most` slots, handed out in order of request. The returned function waits for a slot and resolves to its
 * release.
 */
function slotsOf(most: number): Slots {
  let left = most;
  const waiting: (() => void)[] = [];
  const free = (): void => {
    const next = waiting.shift();
    if (next) next();
    else left += 1;
  };
  return async () => {
    if (left > 0) left -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return free;
  };
}
