import { hash } from "node:crypto";

import { InvalidInput, Problem, problemBody } from "../../../shared/core/errors.ts";
import { type InvocationContext, invoke } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";
import { callsOutside, pageSizeOf, unitsOf } from "../catalogue/function.ts";
import { inputOf, invalidInput } from "../checker/arguments.ts";
import type { Checked, CheckedCall, CheckedStatement } from "../checker/checker.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import type { Call, Position } from "../language/ast.ts";
import { LanguageError, type Diagnostic } from "../language/errors.ts";
import { budgetMs, outsideBudgetMs, readsAtOnce } from "../language/limits.ts";
import { type PermissionSnapshot, emptySnapshot, recordCall } from "./held-permissions.ts";
import { responsesOf, valueOrOmission, resultTooLarge } from "./responses.ts";
import { type FailedCall, type ProgramOutcome, type Perform, runSteps } from "./scheduler.ts";
import { type Withheld, noteAnswer } from "./session-variables.ts";

/** The result of a program, with the data that is needed to save its variables and its answer. */
export type ProgramRun = {
  responses: CallResponse[];
  lastValue: unknown;
  error?: ProgramError;
  /** The steps that completed, with their values. */
  completed: { step: CheckedStatement; value: unknown }[];
  /** The permissions that the calls relied on. */
  permissions: PermissionSnapshot;
  /** The calls whose answers must not be stored. */
  withheld: Withheld;
  /** The index of the last step that ended the session; -1 if the program did not end the session. */
  endedStep: number;
};

export type RunProgramOptions = CallOptions & {
  explain: (diagnostic: Diagnostic) => ProgramError;
  session?: ReadonlyMap<string, unknown>;
  concurrency?: number;
};

/** How the sender of a program follows the program while it runs. */
export type Follower = {
  /** Whether the sender has cancelled the program. */
  isCancelled: () => Promise<boolean>;
  /** Called after each completed call, with the number of calls that have completed. */
  progressed?: (completed: number) => void;
};

type CallOptions = {
  /** The base of the idempotency keys of the calls. */
  key?: string | undefined;
  /** Routes that are bound to this program. They replace the routes of the catalogue. */
  boundRoutes?: ReadonlyMap<string, Route> | undefined;
  follower?: Follower | undefined;
  /** Receives the score of each call that begins, in units. */
  onCall?: ((units: number) => void) | undefined;
};

/**
 * Makes the calls of one program. Records the permissions that the calls rely on, and the answers that must not be
 * stored.
 */
export type Caller = {
  checkedCall: (call: Call) => CheckedCall;
  /**
   * Throws `out_of_time` after the time limit for the call, which is shorter if the call uses other services. Throws
   * `cancelled` after the sender has cancelled the program.
   */
  throwIfStopped: (call: Call) => Promise<void>;
  perform: Perform;
  permissions: PermissionSnapshot;
  withheld: Withheld;
};

/** Starts the time limit of a program. Each call goes through `invoke`, as a REST request does. */
export function openCaller(
  calls: Checked["calls"],
  context: InvocationContext,
  { key, boundRoutes = new Map(), follower, onCall }: CallOptions,
): Caller {
  const startedMs = context.now().getTime();
  const stopAt = new Date(startedMs + budgetMs);
  const permissions = emptySnapshot();
  const withheld: Withheld = new Map();
  const checkedCall = (call: Call): CheckedCall => {
    const found = calls.get(call);
    if (!found) throw new Error(`${call.name} was not checked`);
    return found;
  };
  let completed = 0;
  const throwIfStopped = async (call: Call): Promise<void> => {
    const limitMs = callsOutside(checkedCall(call).fn) ? outsideBudgetMs : budgetMs;
    if (context.now().getTime() >= startedMs + limitMs)
      throw new LanguageError(call.at, outOfTime(call, limitMs), { code: "out_of_time" });
    if (await follower?.isCancelled()) throw new LanguageError(call.at, cancelled(call), { code: "cancelled" });
  };
  const perform: Perform = async ({ call, args, path }) => {
    const { index, fn } = checkedCall(call);
    await throwIfStopped(call);
    const raw = inputOf(fn, args);
    onCall?.(unitsOf(fn, pageSizeOf(fn, args.get("page_size"))));
    const ownKey = key === undefined || fn.usesSession ? undefined : callKey(key, index, path);
    const called = await invoke(
      boundRoutes.get(call.name) ?? fn.route,
      { ...raw, callKey: ownKey },
      { ...context, stopAt },
    );
    recordCall(permissions, fn.route, called);
    noteAnswer(withheld, call, fn.route, called.output);
    completed += 1;
    follower?.progressed?.(completed);
    return asJson(called.output);
  };
  return { checkedCall, throwIfStopped, perform, permissions, withheld };
}

/** Runs the checked steps of a program. */
export async function runProgram(
  { steps, calls }: Pick<Checked, "calls" | "steps">,
  context: InvocationContext,
  { explain, session = new Map(), concurrency = readsAtOnce, ...options }: RunProgramOptions,
): Promise<ProgramRun> {
  const { checkedCall, perform, permissions, withheld } = openCaller(calls, context, options);
  const writes = (call: Call): boolean => checkedCall(call).fn.route.access === "write";
  const outcome = await runSteps(steps, { perform, concurrency, writes, session });
  const last = lastValueOf(steps, outcome);
  const diagnostic = programFailure(outcome, checkedCall, context) ?? resultTooLarge(last.value, last.at);
  const error = diagnostic && explain(diagnostic);
  const completed = steps
    .slice(0, outcome.failure?.step)
    .map((step, index) => ({ step, value: outcome.values[index] }));
  const responses = responsesOf(outcome, steps, checkedCall, error);
  // Null if the last value of a completed program is too large.
  let lastValue: unknown = null;
  if (!error) lastValue = last.value;
  else if (outcome.failure) lastValue = valueOrOmission(last.value);
  return {
    responses,
    lastValue,
    completed,
    permissions,
    withheld,
    endedStep: endedStepOf(steps, outcome),
    ...(error === undefined ? {} : { error }),
  };
}

/**
 * The index of the last step that ended the session; -1 if no step did. Only completed calls of `auth.session.end`
 * count: a step can have this call without making the call, and a step can fail after the call.
 */
function endedStepOf(steps: readonly CheckedStatement[], { results }: ProgramOutcome): number {
  const ends = results.filter((one) => "value" in one && one.call.name === "auth.session.end");
  const made = new Set(ends.map(({ call }) => call));
  return steps.findLastIndex(({ calls }) => calls.some(({ call }) => made.has(call)));
}

/** Converts a value to the value that a caller over REST reads: members that are undefined are dropped. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null)) as unknown;

/**
 * Derives the idempotency key of one call. The key depends on the index of the call in the program, and on the index of
 * the item in each `for` around the call.
 */
const callKey = (key: string, index: number, path: readonly number[]): string =>
  hash("sha256", `${[index, ...path].join(".")}/${key}`, "base64url");

/**
 * The last value of a program: the value of the last statement that contains a call or is not an assignment. For a
 * failed program: the last value that a call returned, or null.
 */
export function lastValueOf(
  steps: readonly CheckedStatement[],
  { results, values, failure }: ProgramOutcome,
): { value: unknown; at: Position } {
  const start = { line: 1, column: 1 };
  if (failure) {
    const last = results.findLast((one) => "value" in one);
    return last && "value" in last ? { value: last.value, at: last.call.at } : { value: null, at: start };
  }
  const last = steps.findLastIndex(({ calls, statement }) => calls.length > 0 || statement.target === undefined);
  return { value: values[last] ?? null, at: steps[last]?.statement.at ?? start };
}

/** Whether a call was not made because the program was out of time or cancelled. */
const isStopped = (error: unknown): boolean =>
  error instanceof LanguageError && ["out_of_time", "cancelled"].includes(error.diagnostic.code);

const outOfTime = ({ name }: Call, limitMs: number): string =>
  `A program can begin a call of ${name} only in its first ${limitMs / 1000} seconds. Send this call and the later calls again.`;

const cancelled = ({ name }: Call): string =>
  `The program was cancelled before ${name}. This call and the later calls were not made.`;

/** The diagnostic of the failure that ended a program; undefined if the program completed. */
export function programFailure(
  { results, failure }: ProgramOutcome,
  checkedCall: Caller["checkedCall"],
  context: InvocationContext,
): Diagnostic | undefined {
  const failed = results.find((one): one is FailedCall => "error" in one && !isStopped(one.error));
  return failure && diagnosticOf(failure.error, failed, checkedCall, context);
}

/** Converts an error into a diagnostic for the caller. Unexpected errors are logged and reported as `internal`. */
export function diagnosticOf(
  error: unknown,
  failed: FailedCall | undefined,
  checkedCall: (call: Call) => CheckedCall,
  context: InvocationContext,
): Diagnostic {
  if (error instanceof LanguageError) return error.diagnostic;
  const call = failed?.call;
  const at = call?.at ?? { line: 1, column: 1 };
  const name = call?.name ?? "The program";
  if (error instanceof InvalidInput && failed) return invalidInput(error, failed, checkedCall(failed.call).fn);
  if (!(error instanceof Problem)) {
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.log.error("unexpected error", { function: name, error: shown });
  }
  const problem = error instanceof Problem ? error : new Problem("internal", "Something went wrong on our side.");
  return {
    code: problem.code,
    message: `${name}: ${problem.message}`,
    at,
    detail: problemBody(problem, context.requestId),
  };
}
