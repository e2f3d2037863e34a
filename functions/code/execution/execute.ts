import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { catalogue, isWrite } from "../catalogue.ts";
import { type Checked, check } from "../checker/checker.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../envelope.ts";
import { parseProgram } from "../interpreter/builtins.ts";
import type { Program } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { RequestCharges, type Reservation, unitsToRead } from "../sessions/charges.ts";
import { bindSession } from "../sessions/routes.ts";
import { type Session, type SessionRef, loadSession, typesOf, valuesOf } from "../sessions/session.ts";
import { explain } from "./diagnostics.ts";
import { dryRun } from "./dry-run.ts";
import type { PermissionSnapshot } from "./held-permissions.ts";
import { runReserved, reserveScore } from "./price.ts";
import { type Follower, type ProgramRun, type RunProgramOptions, runProgram } from "./program.ts";
import { readFromSession, saveVariables, type UnsavedVariables, type Withheld } from "./session-variables.ts";

/**
 * The facts that decide the advice after a failure: the session, the variables that the session did not keep, and
 * whether the writes have idempotency keys (`isKeyed`). With keys, the same program can safely be sent again.
 */
type SessionOutcome = { sessionId: string | undefined; unsaved: UnsavedVariables | undefined; isKeyed: boolean };

/** The codes of temporary failures: the same program may succeed when it is sent again. */
const temporaryErrors = new Set([
  "out_of_time",
  "internal",
  "busy",
  "upstream_unavailable",
  "rate_limited",
  "idempotency_in_flight",
]);
/** The most variables that the advice names. */
const shownNames = 5;

/**
 * Adds advice to the error of a program that failed after writes took effect: where the results of the writes are, and
 * how to continue.
 */
function withPartialFailure({ responses, completed, endedStep, error }: ProgramRun, outcome: SessionOutcome) {
  const writes = responses.filter((one) => one.status === "completed" && isWrite(one.function)).length;
  if (!error || writes === 0) return { responses, ...(error ? { error } : {}) };
  const isOne = writes === 1;
  const effect = `${writes} earlier ${isOne ? "call" : "calls"} took effect.`;
  const location = `${isOne ? "Its result is" : "Their results are"} in \`responses\``;
  const names = keptNames(completed.slice(endedStep + 1), outcome);
  const kept =
    names.length > 0
      ? `, and ${names.join(", ")} ${names.length === 1 ? "is" : "are"} kept in session ${outcome.sessionId}`
      : "";
  const advice =
    outcome.isKeyed && temporaryErrors.has(error.code)
      ? "Send the same program with the same request_id again, and only the rest is done."
      : `Leave ${isOne ? "this call" : "these calls"} out of the corrected program.`;
  const partialEffect = `${effect} ${location}${kept}. ${advice}`;
  const advised: ProgramError = { ...error, message: `${error.message}\n${partialEffect}` };
  const entryOf = (one: CallResponse): CallResponse => (one.status === "failed" ? { ...one, error: advised } : one);
  return { responses: responses.map(entryOf), error: advised };
}

/**
 * The names of the first five variables that hold results of writes and were kept in the session. If there are more
 * such variables, the last entry says how many more. Empty if `unsaved` does not name all lost variables, because then
 * a lost variable could be named as kept. `completed` has the completed steps after the last step that ended the
 * session.
 */
function keptNames(completed: ProgramRun["completed"], { sessionId, unsaved }: SessionOutcome): string[] {
  if (sessionId === undefined || unsaved?.not_kept_total !== undefined) return [];
  const lost = new Set(unsaved?.not_kept.map(({ name }) => name));
  // A variable that is assigned several times has the entry of its last assignment.
  const writesByName = new Map(completed.map(({ step }) => [step.statement.target, step.writes]));
  const names = [...writesByName].flatMap(([name, writes]) =>
    name !== undefined && writes && !lost.has(clip(name)) ? [name] : [],
  );
  const shown = names.slice(0, shownNames).map((name) => `\`${clip(name)}\``);
  return names.length > shown.length ? [...shown, `${names.length - shown.length} more`] : shown;
}

/** A program to run, with its options. */
export type Run = {
  code: string;
  /** The caller's correlation id, echoed in the envelope. */
  requestId: string;
  /**
   * The session whose variables the program reads and updates. Without a session, the program starts with no variables.
   */
  sessionId?: string | undefined;
  /** Makes only the calls that read, and lists the others. Saves no variables. */
  dryRun?: boolean | undefined;
  /** Refuses every function that is not `access: "read"`. */
  readOnly?: boolean | undefined;
  /** The base of the idempotency keys of the program's writes. Without a base, the writes have no keys. */
  key?: string | undefined;
  follower?: Follower | undefined;
};

/**
 * The result of a run: the envelope, the caller's permissions in the accounts that the program used, and the calls
 * whose answers must not be stored.
 */
export type ProgramResult = { envelope: CodeResponse; permissions: PermissionSnapshot; withheld: Withheld };

/**
 * The envelope of a program that has a mistake or was a dry run, or else the functions that run or abandon the program.
 * `abandon` gives back the reserved score if the program is not run after all.
 */
type Prepared = { envelope: CodeResponse } | { run: () => Promise<ProgramResult>; abandon: () => Promise<void> };

/**
 * Runs a program: parses it, checks every call, and runs the calls only if there is no mistake.
 * - Mistakes in the program and failed calls are reported in the envelope, not thrown.
 * - The score is charged to the caller's rate limit before anything runs. Throws 429 if the limit has no room. The part
 *   of the score that the calls did not use is given back.
 */
export async function execute(run: Run, context: InvocationContext): Promise<CodeResponse> {
  const prepared = await prepare(run, context);
  return "envelope" in prepared ? prepared.envelope : (await prepared.run()).envelope;
}

/**
 * Parses and checks a program, and reserves its score, less the 1 that the request has paid already. If the run is a
 * dry run, makes it at once. Writes nothing but the charge. Throws 429 if the limit has no room.
 */
export async function prepare(
  run: Run,
  context: InvocationContext,
  charges = new RequestCharges(context),
): Promise<Prepared> {
  const { id: principalId } = await context.authenticate();
  const { code, requestId, sessionId } = run;
  const ref = sessionId === undefined ? undefined : { table: context.table, principalId, sessionId, now: context.now };
  const { checked, session } = await parseAndCheck(run, ref);
  const { diagnostics, score } = checked;
  const [first, ...others] = diagnostics;
  await charges.charge(unitsToRead(session?.bytes ?? 0));
  if (first) return { envelope: refusal(requestId, explain([first, ...others], code, catalogue), score) };
  const reservation = await reserveScore(
    run.dryRun ? { ...checked, score: checked.dryScore } : checked,
    charges,
    context,
  );
  const program = { checked, ref, session, charges, reservation };
  if (run.dryRun) return { envelope: await rehearseChecked(run, context, program) };
  return { run: () => runChecked(run, context, program), abandon: () => reservation.settle(0) };
}

type CheckedRun = CheckedProgram & {
  ref: SessionRef | undefined;
  charges: RequestCharges;
  reservation: Reservation;
};

const optionsOf = ({ code, key, follower }: Run, { ref, session, charges }: CheckedRun): RunProgramOptions => ({
  explain: (diagnostic) => explain([diagnostic], code, catalogue),
  key,
  follower,
  ...(session ? { session: valuesOf(session) } : {}),
  ...(ref ? { boundRoutes: bindSession(ref, charges, session) } : {}),
});

async function rehearseChecked(run: Run, context: InvocationContext, program: CheckedRun): Promise<CodeResponse> {
  const { checked, reservation } = program;
  const { calls, lastValue, error } = await runReserved(reservation, (onCall) =>
    dryRun(checked, { ...context, paid: reservation }, { ...optionsOf(run, program), onCall }),
  );
  return envelopeOf(run.requestId, checked.score, {
    ...(error ? { status: "failed" } : {}),
    result: { last_value: lastValue },
    dry_run: { calls },
    ...(error ? { error } : {}),
  });
}

async function runChecked(run: Run, context: InvocationContext, program: CheckedRun): Promise<ProgramResult> {
  const { requestId, sessionId, key, readOnly } = run;
  const { ref, session, charges, checked, reservation } = program;
  const evaluation = await runReserved(reservation, (onCall) =>
    runProgram(checked, { ...context, paid: reservation }, { ...optionsOf(run, program), onCall }),
  );
  const { lastValue, completed, permissions, withheld, endedStep } = evaluation;
  // After a temporary failure, the caller may send the same program again. This repeat must read the same values of the
  // session's variables. After `idempotency_key_reused`, the program itself may be a repeat that read changed
  // variables. It must not change these variables further.
  const failedCode = evaluation.error?.code ?? "";
  const mayBeRepeated =
    key !== undefined && (temporaryErrors.has(failedCode) || failedCode === "idempotency_key_reused");
  const unchanged = mayBeRepeated ? readFromSession(checked.steps) : new Set<string>();
  const use = { completed, withheld, endedStep, session, readOnly: readOnly === true, unchanged };
  const unsaved = ref ? await saveVariables(ref, use, context, charges) : undefined;
  const { responses, error } = withPartialFailure(evaluation, { sessionId, unsaved, isKeyed: key !== undefined });
  const envelope = envelopeOf(requestId, checked.score, {
    ...(error ? { status: "failed" } : {}),
    result: { last_value: lastValue },
    responses,
    ...(unsaved ? { session: unsaved } : {}),
    ...(error ? { error } : {}),
  });
  return { envelope, permissions, withheld };
}

type CheckedProgram = { checked: Checked; session?: Session | undefined };

/** Parses and checks a program. Loads the session only if the program reads a variable that no earlier line assigns. */
async function parseAndCheck({ code, readOnly }: Run, ref: SessionRef | undefined): Promise<CheckedProgram> {
  let program: Program;
  try {
    program = parseProgram(code);
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
    return {
      checked: { steps: [], calls: new Map(), diagnostics: [error.diagnostic], score: 0, dryScore: 0 },
    };
  }
  const checked = check(program, { catalogue, readOnly, session: ref && new Map() });
  if (!ref || !checked.readsUnassigned) return { checked };
  const session = await loadSession(ref);
  return { checked: check(program, { catalogue, readOnly, session: typesOf(session) }), session };
}

/** The envelope of a program that did not run. */
export const refusal = (requestId: string, error: ProgramError, score = 0): CodeResponse =>
  envelopeOf(requestId, score, { status: "failed", error });

/** Builds an envelope: first the required members in their order, then the optional members. */
function envelopeOf(requestId: string, score: number, more: Partial<CodeResponse>): CodeResponse {
  const { status = "completed", result = { last_value: null }, responses = [], ...rest } = more;
  return { request_id: requestId, status, result, responses, complexity_score: score, ...rest };
}
