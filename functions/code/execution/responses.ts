import type { Site, CheckedStatement } from "../checker/checker.ts";
import type { CallResponse, ProgramError } from "../envelope.ts";
import type { Call, Position } from "../language/ast.ts";
import { LanguageError, type Diagnostic } from "../language/errors.ts";
import type { ProgramOutcome } from "./scheduler.ts";

export const resultLimitBytes = 1_048_576;
/** Escaped, an answer may be as many times as long: with all the rest it stays below the 6 MB that a Lambda may answer. */
const mostEscaped = 2.25;

/**
 * One entry for each call that ran, in source order; after a failure one more for each call of the program that was not
 * reached. What the answer has no room for is replaced by how much is missing and how to ask for less.
 */
export function responsesOf(
  { ran, failure }: ProgramOutcome,
  steps: readonly CheckedStatement[],
  siteOf: (call: Call) => Site,
  error: ProgramError | undefined,
): CallResponse[] {
  let room = resultLimitBytes;
  const reached = new Set<Call>();
  const responses: CallResponse[] = [];
  const entryOf = (call: Call) => ({ index: responses.length, function: siteOf(call).fn.route.name });
  for (const one of ran) {
    if ("value" in one) {
      const size = measure(one.value);
      const isShown = size.room <= room;
      const result = isShown ? one.value : omission(size.bytes);
      if (isShown) room -= size.room;
      responses.push({ ...entryOf(one.call), status: "completed", result });
    } else if (error && !(one.error instanceof LanguageError)) {
      responses.push({ ...entryOf(one.call), status: "failed", error });
    } else continue;
    reached.add(one.call);
  }
  if (!failure) return responses;
  for (const { call } of steps.slice(failure.step).flatMap(({ sites }) => sites)) {
    if (!reached.has(call)) responses.push({ ...entryOf(call), status: "skipped" });
  }
  return responses;
}

/** How long a value is as JSON; and the room it takes in an answer, which is more where much of it is escaped on its way. */
function measure(value: unknown): { bytes: number; room: number } {
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes > resultLimitBytes) return { bytes, room: bytes };
  // A quote or backslash is two characters in the text of a protocol, and those are four in what the Lambda answers.
  const escaped = json.match(/["\\]/g)?.length ?? 0;
  return { bytes, room: Math.max(bytes, Math.ceil((bytes + 3 * escaped) / mostEscaped)) };
}

/** Stands where a result would be that the answer has no room for. */
const omission = (bytes: number): { omitted_bytes: number; message: string } => ({
  omitted_bytes: bytes,
  message: `The call ran, but the ${bytes} bytes of its result do not fit: an answer has room for ${resultLimitBytes} in all. A variable holds all of it, so pick what you need, as in [x.id for x in page.items], or ask for a smaller page_size.`,
});

/** The value of a call as the last value of a program that failed: it has as much room as all the results together. */
export function shownValue(value: unknown): unknown {
  const { bytes, room } = measure(value);
  return room <= resultLimitBytes ? value : omission(bytes);
}

/** Why a value is no result of a program: it takes more room than an answer has; undefined where it fits. */
export function tooLarge(value: unknown, at: Position): Diagnostic | undefined {
  const { room } = measure(value);
  if (room <= resultLimitBytes) return undefined;
  const message = `The result takes ${room} bytes, and ${resultLimitBytes} are the most: let the last line pick what you need, as in [x.id for x in page.items], go over fewer items, or ask for a smaller page_size.`;
  return { code: "result_too_large", message, at };
}
