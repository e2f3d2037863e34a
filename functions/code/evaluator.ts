import { InvalidInput, Problem, problemBody } from "../../shared/errors.ts";
import { invoke, type Door } from "../../shared/invoke.ts";
import { rawInput } from "./catalogue.ts";
import type { ResolvedCall } from "./checker.ts";
import type { CallResponse, ProgramError } from "./envelope.ts";
import type { Mistake } from "./mistake.ts";
import { valueOf } from "./value.ts";

export const budgetMs = 20_000;
export const resultLimitBytes = 1_048_576;

/** What came of the calls, in source order. */
export type Evaluation = { responses: CallResponse[]; lastValue: unknown; error?: ProgramError };

export type EvaluateOptions = {
  explain: (mistake: Mistake) => ProgramError;
  /** The idempotency key of the call at a place, where the program has one. */
  keyOf: (index: number) => string | undefined;
};

/**
 * Runs checked calls one after another, each through `invoke` like a REST request. The first failure ends the
 * program: what completed stays, what was to follow is skipped. The time budget is looked at between calls.
 */
export async function evaluate(
  calls: readonly ResolvedCall[],
  door: Door,
  { explain, keyOf }: EvaluateOptions,
): Promise<Evaluation> {
  const evaluation: Evaluation = { responses: [], lastValue: null };
  const { responses } = evaluation;
  const deadline = door.now().getTime() + budgetMs;
  let bytes = 0;
  for (const [index, resolved] of calls.entries()) {
    const entry = { index, function: resolved.fn.route.name };
    if (!evaluation.error && door.now().getTime() >= deadline) evaluation.error = explain(outOfTime(resolved));
    if (evaluation.error) {
      responses.push({ ...entry, status: "skipped" });
      continue;
    }
    const outcome = await run(resolved, door, keyOf(index));
    bytes += "value" in outcome ? Buffer.byteLength(JSON.stringify(outcome.value)) : 0;
    const mistake = "mistake" in outcome ? outcome.mistake : bytes > resultLimitBytes ? tooLarge(resolved) : undefined;
    if (mistake) {
      evaluation.error = explain(mistake);
      responses.push({ ...entry, status: "failed", error: evaluation.error });
    } else if ("value" in outcome) {
      evaluation.lastValue = outcome.value;
      responses.push({ ...entry, status: "completed", result: outcome.value });
    }
  }
  return evaluation;
}

type Outcome = { value: unknown } | { mistake: Mistake };

async function run({ call, fn }: ResolvedCall, door: Door, key: string | undefined): Promise<Outcome> {
  const values = new Map(call.args.map(({ name, value }) => [name, valueOf(value)]));
  try {
    const headers = { "idempotency-key": key };
    const { output } = await invoke(fn.route, { ...rawInput(fn, values), headers }, door);
    return { value: output };
  } catch (error) {
    return { mistake: { at: call.at, ...failureOf(error, call.name, door) } };
  }
}

/** A failed call as the caller sees it; what was not meant for them is logged and leaves as `internal`. */
function failureOf(error: unknown, name: string, door: Door): Omit<Mistake, "at"> {
  if (error instanceof InvalidInput) {
    return { code: "invalid_argument", message: `${name}: ${error.message}.`, function: name, detail: error.errors };
  }
  if (!(error instanceof Problem)) {
    door.log.error("unexpected error", {
      function: name,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  const problem = error instanceof Problem ? error : new Problem("internal", "Something went wrong on our side.");
  return { code: problem.code, message: `${name}: ${problem.message}`, detail: problemBody(problem, door.requestId) };
}

const outOfTime = ({ call }: ResolvedCall): Mistake => ({
  code: "out_of_time",
  message: `The ${budgetMs / 1000} seconds of a program ended before ${call.name}: send it and what follows again.`,
  at: call.at,
});

const tooLarge = ({ call }: ResolvedCall): Mistake => ({
  code: "result_too_large",
  message: `${call.name} ran, but with its result the answer exceeds ${resultLimitBytes} bytes: ask for less, in several programs.`,
  at: call.at,
});
