import type { Site, Step } from "./checker.ts";
import type { CallResponse, ProgramError } from "./envelope.ts";
import { LanguageError } from "./mistake.ts";
import type { Outcome } from "./runner.ts";
import type { Call } from "./syntax.ts";

export const resultLimitBytes = 1_048_576;

/**
 * One entry for each call that ran, in source order; after a failure one more for each call of the program that was not
 * reached. What the answer has no room for is replaced by how much is missing and how to ask for less.
 */
export function responsesOf(
  { ran, failure }: Outcome,
  steps: readonly Step[],
  siteOf: (call: Call) => Site,
  error: ProgramError | undefined,
): CallResponse[] {
  let room = resultLimitBytes;
  const reached = new Set<Call>();
  const responses: CallResponse[] = [];
  const entryOf = (call: Call) => ({ index: responses.length, function: siteOf(call).fn.route.name });
  for (const one of ran) {
    if ("value" in one) {
      const bytes = bytesOf(one.value);
      const result = bytes <= room ? one.value : omission(bytes);
      room -= bytes <= room ? bytes : 0;
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

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Stands where a result would be that the answer has no room for. */
const omission = (bytes: number): { omitted_bytes: number; message: string } => ({
  omitted_bytes: bytes,
  message: `The call ran, but the ${bytes} bytes of its result do not fit: an answer has room for ${resultLimitBytes} in all. A variable holds all of it, so pick what you need, as in [x.id for x in page.items], or ask for a smaller page_size.`,
});

/** The last value as it is answered: it has as much room as all the results together. */
export function shownValue(value: unknown): unknown {
  const bytes = bytesOf(value);
  return bytes <= resultLimitBytes ? value : omission(bytes);
}
