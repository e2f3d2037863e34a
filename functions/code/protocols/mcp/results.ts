import { holdsSecret } from "../../../../shared/http/route.ts";
import { catalogue, isWrite } from "../../catalogue.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../../envelope.ts";
import { howToAskForLess, omittedBytesOf } from "../../execution/responses.ts";
import { isDict } from "../../interpreter/values.ts";
import { resultLimitBytes } from "../../language/limits.ts";

/**
 * The room for the last value and the results together, in bytes. This limit keeps an answer small enough for a model
 * to read.
 */
const roomBytes = 65_536;
/**
 * The room for the last value of a failed program, in bytes. It is small, because this value is not what the program
 * asks for: it is only the result of the last call that completed.
 */
const unfinishedBytes = 2_048;
/**
 * The room for the results of a completed program's writes, in bytes. The results are shown besides the last value,
 * because they may have ids that the last value lacks.
 */
const writesBytes = 8_192;

/**
 * Summarizes an envelope for `results: "last"`.
 * - The last value and the full error appear only once: the entries of calls do not repeat them.
 * - The entry of a read has only the size of the result (`bytes`).
 * - The entry of a write keeps the result if there is room and the last value does not contain the result.
 */
export function summarizeResults(envelope: CodeResponse): object {
  const { result, responses, error } = envelope;
  const value = result.last_value;
  const last = JSON.stringify(value ?? null);
  const bytes = byteLength(last);
  const fits = bytes <= (error ? unfinishedBytes : roomBytes);
  const remaining = roomBytes - (fits ? bytes : 0);
  const room = error ? remaining : Math.min(remaining, writesBytes);
  const notice = error ? unfinishedNotice(bytes) : truncationNotice(value, bytes);
  return {
    ...envelope,
    result: { last_value: fits ? value : notice },
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
    const omitted = omittedBytesOf(result);
    const bytes = omitted ?? byteLength(JSON.stringify(result ?? null));
    const isLeftOut = !isWrite(one.function) || isRedundant(one.function, result, shown.lastValue) || bytes > room;
    if (omitted !== undefined || isLeftOut) return { ...entry, bytes };
    room -= bytes;
    return one;
  });
  return joinAlike(entries);
}

/**
 * Whether the summary can leave out the result of a write, for one of these reasons:
 * - The result has no members.
 * - The last value contains the whole result.
 * - The last value contains the result's id, and the result has no secret.
 */
function isRedundant(name: string, result: unknown, lastValue: string): boolean {
  const text = JSON.stringify(result ?? null);
  if (text === "{}" || lastValue.includes(text)) return true;
  const route = catalogue.get(name)?.route;
  const id = isDict(result) ? result["id"] : undefined;
  return typeof id === "string" && lastValue.includes(JSON.stringify(id)) && !(route && holdsSecret(route, result));
}

/**
 * Joins neighbouring entries into one entry if they have the same function and status, and show no result or error. The
 * joined entry has the number of the calls and the total size of the calls' results.
 */
function joinAlike(entries: readonly Entry[]): Entry[] {
  const groups: Entry[] = [];
  for (const one of entries) {
    const previous = groups.at(-1);
    const isAlike = previous?.function === one.function && previous.status === one.status;
    if (!isAlike || [previous, one].some((entry) => "result" in entry || "error" in entry)) groups.push(one);
    else
      groups[groups.length - 1] = {
        ...previous,
        calls: (previous.calls ?? 1) + 1,
        ...sumOf(previous.bytes, one.bytes),
      };
  }
  return groups;
}

const sumOf = (one: number | undefined, other: number | undefined): { bytes?: number } =>
  one === undefined || other === undefined ? {} : { bytes: one + other };

/** The replacement for a completed program's last value that does not fit. */
const truncationNotice = (value: unknown, bytes: number) => ({
  omitted_bytes: bytes,
  message: `The last value has ${bytes} bytes, but only ${roomBytes} fit. ${howToAskForLess(value, bytes, roomBytes)} If the argument "results" is "all", ${resultLimitBytes} bytes fit.`,
});

/** The replacement for a failed program's last value that does not fit. */
const unfinishedNotice = (bytes: number) => ({
  omitted_bytes: bytes,
  message:
    'The program failed before its last line was done. If the argument "results" is "all", the answer has the results of its calls.',
});

/** Drops the parts of an error that its message repeats: the signature and the list of details. */
function withoutRepeats({ parameters: _, detail, ...error }: ProgramError): ProgramError {
  return { ...error, ...(detail === undefined || Array.isArray(detail) ? {} : { detail }) };
}
