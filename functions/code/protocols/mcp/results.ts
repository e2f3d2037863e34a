import { holdsSecret } from "../../../../shared/http/shown-once.ts";
import { catalogue, isWrite } from "../../catalogue.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../../envelope.ts";
import { howToAskForLess } from "../../execution/responses.ts";
import { isDict } from "../../interpreter/values.ts";
import { resultLimitBytes } from "../../language/limits.ts";

/** The room for the last value and the results together, in bytes. Models and their hosts can use no more at once. */
const roomBytes = 65_536;
/** The room for the last value of a failed program, in bytes. It is only the result of the last call that ran. */
const unfinishedBytes = 2_048;
/** The room for results of writes of a completed program, in bytes. They may contain ids that the last value lacks. */
const writesBytes = 8_192;

/**
 * Summarizes an envelope for `results: "last"`.
 * - The last value is in it once, and the error is in it once.
 * - The results of calls are replaced by their sizes (`bytes`), except for results of writes that the last value says
 *   nothing of.
 */
export function summarizeResults(envelope: CodeResponse): object {
  const { result, responses, error } = envelope;
  const last = JSON.stringify(result.last_value ?? null);
  const fits = byteLength(last) <= (error ? unfinishedBytes : roomBytes);
  const remaining = roomBytes - (fits ? byteLength(last) : 0);
  const room = error ? remaining : Math.min(remaining, writesBytes);
  return {
    ...envelope,
    result: {
      last_value: fits
        ? result.last_value
        : error
          ? unfinishedNotice(byteLength(last))
          : truncationNotice(result.last_value, byteLength(last)),
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

function entriesOf(responses: readonly CallResponse[], shown: { lastValue: string; room: number }): Entry[] {
  let { room } = shown;
  const entries = responses.map((one): Entry => {
    if (one.status === "failed") return { ...one, error: { code: one.error.code } };
    if (one.status === "skipped") return one;
    const { result, ...entry } = one;
    const bytes = byteLength(JSON.stringify(result ?? null));
    if (!isWrite(one.function) || isTold(one.function, result, shown.lastValue) || bytes > room) {
      return { ...entry, bytes };
    }
    room -= bytes;
    return one;
  });
  return joinAlike(entries);
}

/**
 * Whether a last value has what a caller needs of the result of a write: all of it, or its id. A result without members
 * has nothing to tell, and a secret is needed itself.
 */
function isTold(name: string, result: unknown, lastValue: string): boolean {
  const text = JSON.stringify(result ?? null);
  if (text === "{}" || lastValue.includes(text)) return true;
  const route = catalogue.get(name)?.route;
  const id = isDict(result) ? result["id"] : undefined;
  return typeof id === "string" && lastValue.includes(JSON.stringify(id)) && !(route && holdsSecret(route, result));
}

/**
 * Joins neighbouring calls of one function that have the same status and show no result into one entry, with their
 * number and total size.
 */
function joinAlike(entries: readonly Entry[]): Entry[] {
  const groups: Entry[] = [];
  for (const one of entries) {
    const before = groups.at(-1);
    const isAlike = before?.function === one.function && before.status === one.status;
    if (!isAlike || [before, one].some((entry) => "result" in entry || "error" in entry)) groups.push(one);
    else groups[groups.length - 1] = { ...before, calls: (before.calls ?? 1) + 1, ...sumOf(before.bytes, one.bytes) };
  }
  return groups;
}

const sumOf = (one: number | undefined, other: number | undefined): { bytes?: number } =>
  one === undefined || other === undefined ? {} : { bytes: one + other };

/** Replaces a last value that does not fit. */
const truncationNotice = (value: unknown, bytes: number) => ({
  omitted_bytes: bytes,
  message: `These ${bytes} bytes do not fit: results: "last" has room for ${roomBytes}. ${howToAskForLess(value, bytes, roomBytes)} results: "all" has room for ${resultLimitBytes}.`,
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
