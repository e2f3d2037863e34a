import type { CheckedCall, CheckedStatement } from "../checker/checker.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import type { Call, Position } from "../language/ast.ts";
import { LanguageError, type Diagnostic } from "../language/errors.ts";
import { resultLimitBytes } from "../language/limits.ts";
import type { ProgramOutcome } from "./scheduler.ts";

/**
 * Escaping makes an answer longer by up to this factor. The whole answer still stays below the 6 MB limit of a Lambda.
 */
const mostEscaped = 2.25;

/**
 * Builds one entry for each call that ran, in source order, and after a failure one for each call that was not reached.
 * A result that does not fit is replaced by its size and advice to ask for less.
 */
export function responsesOf(
  { results, failure }: ProgramOutcome,
  steps: readonly CheckedStatement[],
  checkedCall: (call: Call) => CheckedCall,
  error: ProgramError | undefined,
): CallResponse[] {
  const room = new ResultRoom();
  const reached = new Set<Call>();
  const responses: CallResponse[] = [];
  const entryOf = (call: Call) => ({ index: responses.length, function: checkedCall(call).fn.route.name });
  for (const one of results) {
    if ("value" in one) {
      responses.push({ ...entryOf(one.call), status: "completed", result: room.take(one.value) });
    } else if (error && !(one.error instanceof LanguageError)) {
      responses.push({ ...entryOf(one.call), status: "failed", error });
    } else continue;
    reached.add(one.call);
  }
  if (!failure) return responses;
  for (const { call } of steps.slice(failure.step).flatMap(({ calls }) => calls)) {
    if (!reached.has(call)) responses.push({ ...entryOf(call), status: "skipped" });
  }
  return responses;
}

/** The room for values in an answer. */
export class ResultRoom {
  #left = resultLimitBytes;

  /** The value, or its size and advice to ask for less if it does not fit. */
  take(value: unknown): unknown {
    const { bytes, room } = measure(value);
    if (room > this.#left) return omittedResult(bytes);
    this.#left -= room;
    return value;
  }
}

/**
 * Measures a value: its bytes as JSON, and the room it takes in an answer, which is more if many characters are
 * escaped.
 */
function measure(value: unknown): { bytes: number; room: number } {
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes > resultLimitBytes) return { bytes, room: bytes };
  // A protocol escapes a quote or backslash to two characters in its text, and the Lambda's answer escapes those to
  // four.
  const escaped = json.match(/["\\]/g)?.length ?? 0;
  return { bytes, room: Math.max(bytes, Math.ceil((bytes + 3 * escaped) / mostEscaped)) };
}

/** Replaces a result that does not fit into the answer. */
const omittedResult = (bytes: number): { omitted_bytes: number; message: string } => ({
  omitted_bytes: bytes,
  message: `The call ran, but the ${bytes} bytes of its result do not fit: an answer has room for ${resultLimitBytes} in all. A variable holds all of it, so pick what you need, as in [x.id for x in page.items], or ask for a smaller page_size.`,
});

/** Shows a call's value as the last value of a failed program. It has as much room as all results together. */
export function valueOrOmission(value: unknown): unknown {
  const { bytes, room } = measure(value);
  return room <= resultLimitBytes ? value : omittedResult(bytes);
}

/** The diagnostic for a result that takes more room than an answer has; undefined if it fits. */
export function resultTooLarge(value: unknown, at: Position): Diagnostic | undefined {
  const { room } = measure(value);
  if (room <= resultLimitBytes) return undefined;
  const message = `The result takes ${room} bytes, and ${resultLimitBytes} are the most: let the last line pick what you need, as in [x.id for x in page.items], go over fewer items, or ask for a smaller page_size.`;
  return { code: "result_too_large", message, at };
}
