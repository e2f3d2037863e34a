import type { Door } from "../../../shared/invoke.ts";
import { gathered } from "../../../shared/table/gathered.ts";
import { catalogue } from "../catalogue.ts";
import { check, type Checked } from "../checker/checker.ts";
import type { CodeResponse, ProgramError } from "../envelope.ts";
import { LanguageError, type Mistake } from "../language/mistake.ts";
import { parse } from "../language/parser.ts";
import type { Program } from "../language/syntax.ts";
import { Purse, unitsToRead } from "../sessions/purse.ts";
import { bindSession } from "../sessions/session-functions.ts";
import { namesOf, valuesOf } from "../sessions/session-values.ts";
import { loadSession, type Session, type SessionPlace } from "../sessions/session.ts";
import { withAftermath } from "./aftermath.ts";
import { accountsIn, dryRun } from "./dry-run.ts";
import { evaluate } from "./evaluator.ts";
import { explain } from "./explain.ts";
import { keepVariables } from "./keep.ts";
import type { Holdings } from "./standing.ts";
import type { Withheld } from "./withheld.ts";

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

/** A program that ran, what its caller held in the accounts it is about, and which answers are stored nowhere. */
export type Ran = { envelope: CodeResponse; holdings: Holdings; withheld: Withheld };

/** The envelope of a program that is not to run; or what runs it. */
export type Prepared = { envelope: CodeResponse } | { run: () => Promise<Ran> };

/**
 * Runs a program: parses it, checks every call, and only if nothing is wrong runs them. Whatever is wrong with the
 * program or a call is in the envelope; nothing of that is thrown. The score is charged to the caller's rate limit
 * before anything runs: 429.
 */
export async function execute(run: Run, door: Door): Promise<CodeResponse> {
  const prepared = await prepare(run, door);
  return "envelope" in prepared ? prepared.envelope : (await prepared.run()).envelope;
}

/**
 * Parses and checks a program, and charges what it costs beside what its request has paid already: 429. Nothing is
 * written by then.
 */
export async function prepare(run: Run, door: Door, purse = new Purse(door)): Promise<Prepared> {
  const { id: principalId } = await door.authenticate();
  const { code, requestId, sessionId } = run;
  const place = sessionId === undefined ? undefined : { table: door.table, principalId, sessionId, now: door.now };
  const { checked, session } = await read(run, place);
  const { mistakes, score } = checked;
  const sites = [...checked.sites.values()];
  const [first, ...others] = mistakes;
  const cost = first ? 1 : Math.max(1, run.dryRun ? accountsIn(sites).length : score);
  await purse.pay(cost - 1 + unitsToRead(session?.bytes ?? 0));
  if (first) return { envelope: refusal(requestId, explain([first, ...others], code, catalogue), score) };
  if (run.dryRun) return { envelope: envelopeOf(requestId, score, { dry_run: { calls: await dryRun(sites, door) } }) };
  return { run: () => runChecked(run, door, { checked, place, session, purse }) };
}

async function runChecked(
  { code, requestId, sessionId, key, readOnly }: Run,
  door: Door,
  { checked, place, session, purse }: Read & { place: SessionPlace | undefined; purse: Purse },
): Promise<Ran> {
  const { score } = checked;
  const evaluation = await evaluate(
    checked,
    { ...door, paid: true, table: gathered(door.table) },
    {
      explain: (mistake) => explain([mistake], code, catalogue),
      key,
      ...(session ? { session: valuesOf(session) } : {}),
      ...(place ? { bound: bindSession(place, purse, session) } : {}),
    },
  );
  const { lastValue, completed, holdings, withheld } = evaluation;
  const use = { completed, withheld, session, readOnly: readOnly === true };
  const losses = place ? await keepVariables(place, use, door, purse) : undefined;
  const { responses, error } = withAftermath(evaluation, { sessionId, losses, isKeyed: key !== undefined });
  const envelope = envelopeOf(requestId, score, {
    ...(error ? { status: "failed" } : {}),
    result: { last_value: lastValue },
    responses,
    ...(losses ? { session: losses } : {}),
    ...(error ? { error } : {}),
  });
  return { envelope, holdings, withheld };
}

type Read = { checked: Checked; session?: Session | undefined };

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
