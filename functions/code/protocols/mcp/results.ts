import { isWrite } from "../../catalogue.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../../envelope.ts";

/** The room for the last value and the results together, in bytes: as much as a model and its host can take at once. */
const roomBytes = 65_536;
/** Results up to this total size are included unchanged, in bytes. */
const smallBytes = 2_048;
/** The room for results of writes when the program completed, in bytes: they may hold ids that the last value lacks. */
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
  const told = bytesOf(last) <= (error ? smallBytes : roomBytes);
  const left = roomBytes - (told ? bytesOf(last) : 0);
  const room = error ? left : Math.min(left, writesBytes);
  return {
    ...envelope,
    result: {
      last_value: told ? result.last_value : error ? unfinished(bytesOf(last)) : truncationNotice(bytesOf(last)),
    },
    responses: entriesOf(responses, { told: told ? last : "", room }),
    ...(error ? { error: shortened(error) } : {}),
  };
}

type Entry = Pick<CallResponse, "index" | "function" | "status"> & {
  result?: unknown;
  error?: { code: string };
  bytes?: number;
  calls?: number;
};

const bytesOf = (text: string): number => Buffer.byteLength(text);
const textOf = (one: CallResponse): string => (one.status === "completed" ? JSON.stringify(one.result ?? null) : "");

function entriesOf(responses: readonly CallResponse[], given: { told: string; room: number }): Entry[] {
  const texts = responses.map(textOf);
  const isSmall = texts.reduce((sum, text) => sum + bytesOf(text), 0) <= smallBytes;
  let { room } = given;
  const entries = responses.map((one, place): Entry => {
    if (one.status === "failed") return { ...one, error: { code: one.error.code } };
    if (one.status === "skipped" || isSmall) return one;
    const { result: _, ...entry } = one;
    const text = texts[place] ?? "";
    const bytes = bytesOf(text);
    if (!isWrite(one.function) || given.told.includes(text) || bytes > room) return { ...entry, bytes };
    room -= bytes;
    return one;
  });
  return joined(entries);
}

/**
 * Joins neighbouring calls of one function whose results are omitted into one entry, with their number and total size.
 */
function joined(entries: readonly Entry[]): Entry[] {
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

/** Replaces the last value of a program that failed before its last line: a large result of its last call. */
const unfinished = (bytes: number) => ({
  omitted_bytes: bytes,
  message: 'The program failed before its last line. results: "all" shows what its calls brought.',
});

/** Drops the parts of an error that its message repeats: the signature and the list of details. */
function shortened({ parameters: _, detail, ...error }: ProgramError): ProgramError {
  return { ...error, ...(detail === undefined || Array.isArray(detail) ? {} : { detail }) };
}
