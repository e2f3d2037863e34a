import { isWrite } from "../../catalogue.ts";
import type { CallResponse, CodeResponse, ProgramError } from "../../envelope.ts";

/** The room for the last value and results together: as much as a model and its host take at once. */
const roomBytes = 65_536;
/** Results that take no more than this together are told as in every envelope. */
const smallBytes = 2_048;
/** What the results of writes may take when the program completed: ids that its last value does not tell. */
const writesBytes = 8_192;

/**
 * The envelope for who asks for the last value alone (`results: "last"`): beyond 2 KiB, calls are told with the size of
 * their result (`bytes`) in its place, but for writes whose result the last value does not tell. What the last value
 * holds, and an error, stand there once.
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

/** The calls of a comprehension take one entry, where only their size is told: how many they are, and their size together. */
function joined(entries: readonly Entry[]): Entry[] {
  const groups: Entry[] = [];
  for (const one of entries) {
    const before = groups.at(-1);
    if (one.bytes === undefined || before?.bytes === undefined || before.function !== one.function) groups.push(one);
    else groups[groups.length - 1] = { ...before, calls: (before.calls ?? 1) + 1, bytes: before.bytes + one.bytes };
  }
  return groups;
}

/** Stands where the last value would be that the answer has no room for. */
const truncationNotice = (bytes: number) => ({
  omitted_bytes: bytes,
  message: `These ${bytes} bytes do not fit: results: "last" has room for ${roomBytes}. Let the last line pick what you need, as in [x.id for x in page.items], ask for a smaller page_size, or for results: "all".`,
});

/** Stands for the last value of a program that failed before it came to one: what the last call brought. */
const unfinished = (bytes: number) => ({
  omitted_bytes: bytes,
  message: 'The program failed before its last line. results: "all" shows what its calls brought.',
});

/** The message says it all: the signature stands in it, and the places that a list of details would tell again. */
function shortened({ parameters: _, detail, ...error }: ProgramError): ProgramError {
  return { ...error, ...(detail === undefined || Array.isArray(detail) ? {} : { detail }) };
}
