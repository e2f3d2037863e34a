import { createHash } from "node:crypto";

import type { Door } from "../../shared/invoke.ts";
import { catalogue } from "./catalogue.ts";
import { check, type Checked } from "./checker.ts";
import type { CodeResponse, ProgramError } from "./envelope.ts";
import { evaluate, type Evaluation } from "./evaluator.ts";
import { explain } from "./explain.ts";
import { LanguageError, type Mistake } from "./mistake.ts";
import { parse } from "./parser.ts";

/**
 * Runs a program: parses it, checks every call, and only if nothing is wrong runs them in order. Whatever is
 * wrong with the program or a call is in the envelope; nothing of that is thrown. The score is charged to the
 * caller's rate limit before anything runs: 429.
 */
export async function execute(code: string, requestId: string, door: Door, key?: string): Promise<CodeResponse> {
  const { calls, score, mistakes } = read(code);
  const { id: principalId } = await door.authenticate();
  await door.charge({ principalId, class: "default", cost: Math.max(1, score) });
  const [first, ...others] = mistakes;
  if (first) {
    const error = explain([first, ...others], code, catalogue);
    return envelope(requestId, { responses: [], lastValue: null, error }, score);
  }
  const evaluation = await evaluate(
    calls,
    { ...door, paid: true },
    {
      explain: (mistake) => explain([mistake], code, catalogue),
      keyOf: (index) => (key === undefined ? undefined : keyOfCall(key, index)),
    },
  );
  return envelope(requestId, evaluation, score);
}

/** An idempotency key for one call, made from the program's. */
const keyOfCall = (key: string, index: number): string =>
  createHash("sha256").update(`${index}/${key}`).digest("base64url");

function read(code: string): Checked {
  try {
    return check(parse(code), catalogue);
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
    return { calls: [], mistakes: [error.mistake] satisfies Mistake[], score: 0 };
  }
}

/** The envelope of a program that could not even be read. */
export const refusal = (requestId: string, error: ProgramError): CodeResponse =>
  envelope(requestId, { responses: [], lastValue: null, error }, 0);

const envelope = (requestId: string, { responses, lastValue, error }: Evaluation, score: number): CodeResponse => ({
  request_id: requestId,
  status: error ? "failed" : "completed",
  result: { last_value: lastValue },
  responses,
  complexity_score: score,
  ...(error ? { error } : {}),
});
