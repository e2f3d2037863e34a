import type { CheckedStatement } from "../checker/checker.ts";
import { stepLimit } from "../interpreter/budget.ts";
import { type Effect, type Evaluation, type Scope, evaluate } from "../interpreter/interpreter.ts";
import type { Call } from "../language/ast.ts";

/** A call that ran, and what came of it; of one that failed, with what it was given. */
type CallResult = { call: Call; value: unknown } | Failed;
export type Failed = { call: Call; args: ReadonlyMap<string, unknown>; error: unknown };

/** Makes a call; throws what it fails with. */
export type Perform = (effect: Extract<Effect, { kind: "call" }>) => Promise<unknown>;

type RunOptions = {
  perform: Perform;
  /** How many calls are under way at a time; 1 runs statements strictly one after another. */
  atOnce: number;
  /** Whether a call changes something. */
  writes: (call: Call) => boolean;
  session: ReadonlyMap<string, unknown>;
};

/** What came of a program: its calls in source order, the values of the statements that completed, and what ended it. */
export type ProgramOutcome = { ran: CallResult[]; values: unknown[]; failure?: { step: number; error: unknown } };

/** Where calls are noted, and whether something before them has failed by now. */
type StepLog = { ran: CallResult[]; isOver: () => boolean };

/** Ends what comes after a failure: it is not to be started. */
class Over extends Error {}

type Done = { completed: boolean };

/**
 * Runs the steps of a program. Steps and items of comprehensions that only read run at the same time as soon as the
 * values they need and the writes before them are there; a step that writes waits for everything before it. So nothing
 * reads what a later write has changed, and what comes of it is what comes of running them one after another. After a
 * failure nothing that stands later is begun, and what later reads have brought already is left out.
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

/** Drives an evaluation to its end, and makes the calls it asks for. */
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

/** The items of a comprehension: at the same time where they only read, else one after another. */
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

/** Lets `most` at a time through, in the order in which they come; each says when it is done. */
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
