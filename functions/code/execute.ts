import type { Door } from "../../shared/invoke.ts";
import { gathered } from "../../shared/table/gathered.ts";
import { catalogue } from "./catalogue.ts";
import { check, type Checked } from "./checker.ts";
import { dryRun } from "./dry-run.ts";
import type { CodeResponse, ProgramError } from "./envelope.ts";
import { evaluate } from "./evaluator.ts";
import { explain } from "./explain.ts";
import { keepVariables } from "./keep.ts";
import { LanguageError, type Mistake } from "./mistake.ts";
import { parse } from "./parser.ts";
import { bindSession } from "./session-functions.ts";
import { loadSession, namesOf, valuesOf, type Session, type SessionPlace } from "./session.ts";
import type { Program } from "./syntax.ts";

/** A program to run, and how. */
export type Run = {
  code: string;
  /** The caller's correlation id, echoed in the envelope. */
  requestId: string;
  /** Whose variables the program begins with, and leaves behind; without it, it has only its own. */
  sessionId?: string | undefined;
  /** Checks and scores only: nothing is called, nothing kept. */
  dryRun?: boolean | undefined;
  /** Refuses every function that is not `access: "read"`. */
  readOnly?: boolean | undefined;
  /** The idempotency keys of the program's writes are made from it; without one they have none. */
  key?: string | undefined;
};

/**
 * Runs a program: parses it, checks every call, and only if nothing is wrong runs them. Whatever is wrong with the
 * program or a call is in the envelope; nothing of that is thrown. The score is charged to the caller's rate limit
 * before anything runs: 429.
 */
export async function execute(run: Run, door: Door): Promise<CodeResponse> {
  const { id: principalId } = await door.authenticate();
  const { code, requestId, sessionId, key } = run;
  const place = sessionId === undefined ? undefined : { table: door.table, principalId, sessionId, now: door.now };
  const { checked, session } = await read(run, place);
  const { mistakes, score, sites } = checked;
  const cost = run.dryRun || mistakes.length > 0 ? 1 : Math.max(1, score);
  await door.charge({ principalId, class: "default", cost });
  const [first, ...others] = mistakes;
  if (first) return refusal(requestId, explain([first, ...others], code, catalogue), score);
  if (run.dryRun) return envelopeOf(requestId, score, { dry_run: { calls: await dryRun([...sites.values()], door) } });
  const { responses, lastValue, error, completed } = await evaluate(
    checked,
    { ...door, paid: true, table: gathered(door.table) },
    {
      explain: (mistake) => explain([mistake], code, catalogue),
      key,
      ...(session ? { session: valuesOf(session) } : {}),
      ...(place ? { bound: bindSession(place) } : {}),
    },
  );
  const notKept = place ? await keepVariables(place, completed, session !== undefined, door.log) : [];
  return envelopeOf(requestId, score, {
    ...(error ? { status: "failed" } : {}),
    result: { last_value: lastValue },
    responses,
    ...(notKept.length > 0 ? { session: { not_kept: notKept } } : {}),
    ...(error ? { error } : {}),
  });
}

type Read = { checked: Checked; session?: Session };

/** Parses and checks; the session is loaded where the program uses a variable that it has not given a value itself. */
async function read({ code, readOnly }: Run, place: SessionPlace | undefined): Promise<Read> {
  let program: Program;
  try {
    program = parse(code);
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
    return { checked: { steps: [], sites: new Map(), mistakes: [error.mistake] satisfies Mistake[], score: 0 } };
  }
  const checked = check(program, { catalogue, readOnly, session: place && new Map() });
  if (!place || !checked.mistakes.some(({ code }) => code === "unknown_variable")) return { checked };
  const session = await loadSession(place);
  return { checked: check(program, { catalogue, readOnly, session: namesOf(session) }), session };
}

/** The envelope of a program that could not run at all. */
export const refusal = (requestId: string, error: ProgramError, score = 0): CodeResponse =>
  envelopeOf(requestId, score, { status: "failed", error });

/** The members in their specified order, then ours. */
function envelopeOf(requestId: string, score: number, more: Partial<CodeResponse>): CodeResponse {
  const { status = "completed", result = { last_value: null }, responses = [], ...rest } = more;
  return { request_id: requestId, status, result, responses, complexity_score: score, ...rest };
}
