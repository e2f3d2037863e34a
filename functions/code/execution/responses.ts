import type { CheckedCall, CheckedStatement } from "../checker/checker.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import { isDict, isPageValue } from "../interpreter/values.ts";
import type { Call, Position } from "../language/ast.ts";
import { LanguageError, type Diagnostic } from "../language/errors.ts";
import { resultLimitBytes } from "../language/limits.ts";
import type { ProgramOutcome } from "./scheduler.ts";

/**
 * The factor by which escaping may lengthen the values of an answer. With this factor, an answer that uses all its room
 * stays below 6 MB, the limit of a Lambda function. If escaping lengthens a value by a larger factor, the value takes
 * more room than its bytes.
 */
const roomForEscapes = 2.25;

/**
 * Builds one entry for each call that ran, in source order. After a failure, builds an entry also for each call that
 * was not reached. A result without room is replaced by its size and by advice to ask for less.
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

/** The room that is left for values in an answer. */
export class ResultRoom {
  #left = resultLimitBytes;

  /**
   * Uses room for a value and returns the value. Without room returns the size of the value and advice to ask for less.
   */
  take(value: unknown): unknown {
    const { bytes, room } = measure(value);
    if (room > this.#left) return omittedResult(value, bytes);
    this.#left -= room;
    return value;
  }
}

/**
 * Measures a value: its bytes as JSON, and the bytes of room that it takes in an answer. Room is more than bytes if
 * many characters are escaped.
 */
function measure(value: unknown): { bytes: number; room: number } {
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes > resultLimitBytes) return { bytes, room: bytes };
  // A protocol escapes a quote or backslash to two characters in its text, and the Lambda's answer escapes these two to
  // four.
  const escaped = json.match(/["\\]/g)?.length ?? 0;
  return { bytes, room: Math.max(bytes, Math.ceil((bytes + 3 * escaped) / roomForEscapes)) };
}

/** Replaces a value that does not fit into the answer. */
const omittedResult = (value: unknown, bytes: number): { omitted_bytes: number; message: string } => ({
  omitted_bytes: bytes,
  message: `There is no room for this value of ${bytes} bytes. An answer has room for ${resultLimitBytes} bytes in all. ${howToAskForLess(value, bytes, resultLimitBytes)}`,
});

/** The size of the value that `value` replaces, in bytes; undefined if `value` is no replacement. */
export function omittedBytesOf(value: unknown): number | undefined {
  if (!isDict(value) || typeof value["message"] !== "string" || Object.keys(value).length !== 2) return undefined;
  return typeof value["omitted_bytes"] === "number" ? value["omitted_bytes"] : undefined;
}

/** The advice fills only this share of the room, because items differ in size. */
const suggestedShare = 0.9;

/**
 * A sentence that says how to ask for less: which part of `value` fits into `room` as the last value of the program.
 * `bytes` is the size of `value`. `room` and `bytes` are in bytes.
 */
export function howToAskForLess(value: unknown, bytes: number, room: number): string {
  if (bytes <= room) return "Let the last line be this value alone, or a part of it. last_value has room of its own.";
  const partOf = (length: number): string => `[0:${Math.max(1, Math.floor((length * room * suggestedShare) / bytes))}]`;
  if (typeof value === "string") return `Let the last line be a part of the text, as in text${partOf(value.length)}.`;
  const isPage = isPageValue(value);
  const items = isPage ? (value as { items: unknown[] }).items : value;
  if (!Array.isArray(items)) return "Let the last line pick the members that you need, as in x.name.";
  const name = isPage ? "page.items" : "xs";
  return `Let the last line be a part of the ${items.length} items, as in ${name}${partOf(items.length)}, or the members that you need of each item, as in [x.id for x in ${name}].`;
}

/**
 * The last value of a failed program, or the replacement if the value does not fit. The room for this value is as large
 * as the room for the results of all calls.
 */
export function valueOrOmission(value: unknown): unknown {
  const { bytes, room } = measure(value);
  return room <= resultLimitBytes ? value : omittedResult(value, bytes);
}

/** The diagnostic for a result that takes more room than an answer has; undefined if the result fits. */
export function resultTooLarge(value: unknown, at: Position): Diagnostic | undefined {
  const { room } = measure(value);
  if (room <= resultLimitBytes) return undefined;
  const message = `The result takes ${room} bytes, but an answer has room for only ${resultLimitBytes}. ${howToAskForLess(value, room, resultLimitBytes)}`;
  return { code: "result_too_large", message, at };
}
