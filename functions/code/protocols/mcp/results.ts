import { isWrite } from "../../catalogue.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../../envelope.ts";

/** The room for the last value and the results together, in bytes. Models and their hosts can use no more at once. */
const roomBytes = 65_536;
/** Results up to this total size are included unchanged, in bytes. */
const smallBytes = 2_048;
/** The room for results of writes of a completed program, in bytes. They may contain ids that the last value lacks. */
const writesBytes = 8_192;

/**
 * Summarizes an envelope for `results: "last"`.
 * - Results of more than 2 KiB in total are replaced by their size (`bytes`). Results of writes stay if they fit and
 *   the last value does not contain them.
 * - Results in the last value, and the error, are not repeated.
 */
export function summarizeResults(envelope: CodeResponse): object {
  const { result, responses, error } = envelope;
  const last = JSON.stringify(result.last_value ?? null);
  const fits = byteLength(last) <= (error ? smallBytes : roomBytes);
  const remaining = roomBytes - (fits ? byteLength(last) : 0);
  const room = error ? remaining : Math.min(remaining, writesBytes);
  return {
    ...envelope,
    result: {
      last_value: fits
        ? result.last_value
        : error
          ? unfinishedNotice(byteLength(last))
          : truncationNotice(byteLength(last)),
    },
    responses: entriesOf(responses, { lastValue: fits ? last : "", room }),
    ...(error ? { error: withoutRepeats(error) } : {}),
  };
}

type Entry = Pick<CallResponse, "index" | "function" | "status"> & {
  result?: unknown;
  error?: { code: string };
  bytes?: number;
  calls?: number;
};

const byteLength = (text: string): number => Buffer.byteLength(text);
const resultText = (one: CallResponse): string =>
  one.status === "completed" ? JSON.stringify(one.result ?? null) : "";

function entriesOf(responses: readonly CallResponse[], shown: { lastValue: string; room: number }): Entry[] {
  const texts = responses.map(resultText);
  const isSmall = texts.reduce((sum, text) => sum + byteLength(text), 0) <= smallBytes;
  let { room } = shown;
  const entries = responses.map((one, position): Entry => {
    if (one.status === "failed") return { ...one, error: { code: one.error.code } };
    if (one.status === "skipped" || isSmall) return one;
    const { result: _, ...entry } = one;
    const text = texts[position] ?? "";
    const bytes = byteLength(text);
    if (!isWrite(one.function) || shown.lastValue.includes(text) || bytes > room) return { ...entry, bytes };
    room -= bytes;
    return one;
  });
  return joinOmitted(entries);
}

/**
 * Joins neighbouring calls of one function whose results are omitted into one entry, with their number and total size.
 */
function joinOmitted(entries: readonly Entry[]): Entry[] {
  const groups: Entry[] = [];
  for (const one of entries) {
    const before = groups.at(-1);
    if (one.bytes === undefined || before?.bytes === undefined || before.function !== one.function) groups.push(one);
    else groups[groups.length - 1] = { ...before, calls: (before.calls ?? 1) + 1, bytes: before.bytes + one.bytes };
  }
  return groups;
}

/** Replaces a last value that does not fit. */
const truncationNotice = (bytes: number) => ({
  omitted_bytes: bytes,
  message: `These ${bytes} bytes do not fit: results: "last" has room for ${roomBytes}. Let the last line pick what you need, as in [x.id for x in page.items], ask for a smaller page_size, or for results: "all".`,
});

/** Replaces a large last value of a program that failed. That value is only the result of the last call that ran. */
const unfinishedNotice = (bytes: number) => ({
  omitted_bytes: bytes,
  message: 'The program failed before its last line. results: "all" shows the results of its calls.',
});

/** Drops the parts of an error that its message repeats: the signature and the list of details. */
function withoutRepeats({ parameters: _, detail, ...error }: ProgramError): ProgramError {
  return { ...error, ...(detail === undefined || Array.isArray(detail) ? {} : { detail }) };
}
