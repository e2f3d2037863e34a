import { longestSpelling } from "../../dns/labels.ts";
import { RecordType } from "../../dns/rrset.ts";
import { readRecordName } from "./record-name.ts";
import type { RecordInput } from "./record.ts";
import { inFull, readData, typeFault } from "./zone-file-data.ts";
import type { Entry, Word } from "./zone-file-entries.ts";

/** What the entries before one mean for it (RFC 1035 §5.1, RFC 2308 §4). */
export type State = {
  zone: string;
  origin: string;
  defaultTtl?: number;
  lastTtl?: number;
  lastName?: string;
};

const secondsIn: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Seconds as `3600` or, as BIND has them, `1h30m`; undefined when it is no time. */
function readTtl(word: Word): number | undefined {
  if (!/^(?:\d{1,10}|(?:\d{1,10}[smhdw])+)$/i.test(word)) return undefined;
  const parts = [...word.toLowerCase().matchAll(/(\d+)([smhdw]?)/g)];
  return parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * (secondsIn[unit] ?? 1), 0);
}

/** Follows `$ORIGIN` and `$TTL`; `isFatal` is what makes the names after it unknown. */
export function readDirective(
  [directive = "", ...words]: Word[],
  state: State,
): { reason: string; isFatal?: true } | undefined {
  const [word = ""] = words;
  if (/^\$origin$/i.test(directive)) {
    const origin = inFull(word, state.origin);
    if (words.length === 1 && origin.length <= longestSpelling) state.origin = origin;
    else return { reason: "$ORIGIN needs one name: without it nothing from here on was read", isFatal: true };
    return undefined;
  }
  if (/^\$ttl$/i.test(directive)) {
    const ttl = readTtl(word);
    if (ttl === undefined || words.length !== 1) return { reason: "$TTL has one number of seconds" };
    state.defaultTtl = ttl;
    return undefined;
  }
  if (/^\$include$/i.test(directive)) return { reason: "Other files are not included: import them by themselves" };
  if (/^\$generate$/i.test(directive)) return { reason: "$GENERATE is not offered: write the records out" };
  return { reason: "This directive is not known" };
}

/** TTL and class, in either order, and what is after them. */
function readHead(words: Word[]): { ttl?: number; dnsClass: string; rest: Word[] } {
  let ttl: number | undefined;
  let dnsClass: string | undefined;
  let used = 0;
  for (const word of words.slice(0, 2)) {
    const time = ttl === undefined ? readTtl(word) : undefined;
    if (time !== undefined) ttl = time;
    else if (dnsClass === undefined && /^(?:in|ch|hs|cs)$/i.test(word)) dnsClass = word.toUpperCase();
    else break;
    used += 1;
  }
  return { ...(ttl === undefined ? {} : { ttl }), dnsClass: dnsClass ?? "IN", rest: words.slice(used) };
}

/** Reads an entry into a record, or into why it is none; notes its name and TTL for those after it. */
export function readRecord(
  { words, hasName, fault }: Entry,
  state: State,
): { input: RecordInput } | { reason: string } {
  const [first, ...others] = words;
  if (hasName) {
    if (first === undefined) delete state.lastName;
    else state.lastName = inFull(first, state.origin);
  }
  if (fault !== undefined) return { reason: fault };
  const { ttl, dnsClass, rest } = readHead(hasName ? others : words);
  if (ttl !== undefined) state.lastTtl = ttl;
  const [word = "", ...data] = rest;
  if (word === "") return { reason: "There is no type" };
  const type = word.toUpperCase();
  const unknown = dnsClass === "IN" ? typeFault(type) : `Records of class ${dnsClass} are not offered`;
  if (unknown !== undefined) return { reason: unknown };
  if (state.lastName === undefined) return { reason: "There is no name, nor a name before it" };
  const name = readRecordName(state.lastName, state.zone);
  if ("fault" in name) return { reason: name.fault };
  const offered = RecordType.parse(type);
  if (offered === "NS" && name.value === "@") return { reason: "The nameservers of the zone itself are set" };
  const read = readData(offered, data, state.origin);
  if ("fault" in read) return { reason: read.fault };
  const inForce = ttl ?? state.defaultTtl ?? state.lastTtl;
  return { input: { name: name.value, type: offered, ...read, ...(inForce === undefined ? {} : { ttl: inForce }) } };
}
