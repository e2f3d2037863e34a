import { createHash } from "node:crypto";

import { InvalidInput, Problem, problemBody } from "../../../shared/core/errors.ts";
import { type InvocationContext, invoke } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";
import { inputOf, invalidInput } from "../checker/arguments.ts";
import type { Checked, Site, CheckedStatement } from "../checker/checker.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import type { Call, Position } from "../language/ast.ts";
import { LanguageError, type Diagnostic } from "../language/errors.ts";
import { type PermissionSnapshot, emptySnapshot, noteCall } from "./held-permissions.ts";
import { responsesOf, shownValue, tooLarge } from "./responses.ts";
import { type Failed, type ProgramOutcome, type Perform, runSteps } from "./scheduler.ts";
import { type Withheld, noteAnswer } from "./session-variables.ts";

export const budgetMs = 20_000;

/** The number of calls of one program that may run at the same time. */
const readsAtOnce = 20;

/** The result of a program, and the values from which its variables are saved. */
export type ProgramOptions = {
  responses: CallResponse[];
  lastValue: unknown;
  error?: ProgramError;
  /** The steps that completed, with their values. */
  completed: { step: CheckedStatement; value: unknown }[];
  /** The permissions that the calls relied on. */
  holdings: PermissionSnapshot;
  /** The calls whose answers must not be stored. */
  withheld: Withheld;
};

export type EvaluateOptions = {
  explain: (mistake: Diagnostic) => ProgramError;
  /** The base of the idempotency keys of the calls. */
  key?: string | undefined;
  session?: ReadonlyMap<string, unknown>;
  /** Routes bound to this program; they replace those of the catalogue. */
  bound?: ReadonlyMap<string, Route>;
  atOnce?: number;
};

/** Runs the checked steps of a program, each call through `invoke` like a REST request. */
export async function runProgram(
  { steps, sites }: Pick<Checked, "steps" | "sites">,
  door: InvocationContext,
  { explain, key, session = new Map(), bound = new Map(), atOnce = readsAtOnce }: EvaluateOptions,
): Promise<ProgramOptions> {
  const deadline = door.now().getTime() + budgetMs;
  const holdings = emptySnapshot();
  const withheld: Withheld = new Map();
  const siteOf = (call: Call): Site => {
    const site = sites.get(call);
    if (!site) throw new Error(`${call.name} was not checked`);
    return site;
  };
  const perform: Perform = async ({ call, args, path }) => {
    const { index, fn } = siteOf(call);
    if (door.now().getTime() >= deadline) throw new LanguageError(call.at, outOfTime(call), { code: "out_of_time" });
    const raw = inputOf(fn, args);
    const callKey = key === undefined || fn.ofSession ? undefined : keyOf(key, index, path);
    const called = await invoke(bound.get(call.name) ?? fn.route, { ...raw, callKey }, door);
    noteCall(holdings, fn.route, called);
    noteAnswer(withheld, call, fn.route, called.output);
    return asJson(called.output);
  };
  const writes = (call: Call): boolean => siteOf(call).fn.route.access === "write";
  const outcome = await runSteps(steps, { perform, atOnce, writes, session });
  const failed = outcome.ran.find((one): one is Failed => "error" in one && !isOutOfTime(one.error));
  const last = lastOf(steps, outcome);
  const mistake = outcome.failure
    ? mistakeOf(outcome.failure.error, failed, siteOf, door)
    : tooLarge(last.value, last.at);
  const error = mistake && explain(mistake);
  const completed = steps
    .slice(0, outcome.failure?.step)
    .map((step, place) => ({ step, value: outcome.values[place] }));
  const responses = responsesOf(outcome, steps, siteOf, error);
  return {
    responses,
    lastValue: !error ? last.value : outcome.failure ? shownValue(last.value) : null,
    completed,
    holdings,
    withheld,
    ...(error === undefined ? {} : { error }),
  };
}

/** Converts a value to what a caller over REST would read: members without a value are dropped. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null)) as unknown;

/**
 * Derives the idempotency key of one call from its index in the program and its items in the surrounding
 * comprehensions.
 */
const keyOf = (key: string, index: number, path: readonly number[]): string =>
  createHash("sha256")
    .update(`${[index, ...path].join(".")}/${key}`)
    .digest("base64url");

/**
 * The last value of a program: of the last statement that holds a call or is no assignment. For a failed program it is
 * the last value that a call returned.
 */
function lastOf(
  steps: readonly CheckedStatement[],
  { ran, values, failure }: ProgramOutcome,
): { value: unknown; at: Position } {
  const start = { line: 1, column: 1 };
  if (failure) {
    const last = ran.findLast((one) => "value" in one);
    return last && "value" in last ? { value: last.value, at: last.call.at } : { value: null, at: start };
  }
  const last = steps.findLastIndex(({ sites, statement }) => sites.length > 0 || statement.target === undefined);
  return { value: values[last] ?? null, at: steps[last]?.statement.at ?? start };
}

const isOutOfTime = (error: unknown): boolean =>
  error instanceof LanguageError && error.diagnostic.code === "out_of_time";

const outOfTime = ({ name }: Call): string =>
  `The ${budgetMs / 1000} seconds of a program ended before ${name}: send it and what follows again.`;

/** Converts an error into a diagnostic for the caller. Unexpected errors are logged and reported as `internal`. */
function mistakeOf(
  error: unknown,
  failed: Failed | undefined,
  siteOf: (call: Call) => Site,
  door: InvocationContext,
): Diagnostic {
  if (error instanceof LanguageError) return error.diagnostic;
  const call = failed?.call;
  const at = call?.at ?? { line: 1, column: 1 };
  const name = call?.name ?? "The program";
  if (error instanceof InvalidInput && failed) return invalidInput(error, failed, siteOf(failed.call).fn);
  if (!(error instanceof Problem)) {
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    door.log.error("unexpected error", { function: name, error: shown });
  }
  const problem = error instanceof Problem ? error : new Problem("internal", "Something went wrong on our side.");
  return {
    code: problem.code,
    message: `${name}: ${problem.message}`,
    at,
    detail: problemBody(problem, door.requestId),
  };
}
