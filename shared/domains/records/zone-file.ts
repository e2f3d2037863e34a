import { longestSpelling } from "../../dns/labels.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { readRecordName } from "./names.ts";
import { parsedOf } from "./plan.ts";
import type { ParsedRecord, RecordInput } from "./record.ts";
import { recordsIn } from "./stored-record.ts";
import { isQuoted, quoted, unquoted } from "./values.ts";

/** One word of an entry with the escapes it has in the file, without the quotes that may be around it. */
type Word = string;

/** One entry of a zone file: a line, or several that parentheses hold together. */
type Entry = {
  /** Where it begins; the first line is 1. */
  line: number;
  /** The line where it begins. */
  text: string;
  words: Word[];
  /** Whether it begins with a name; one that begins with a blank belongs to the name before it. */
  hasName: boolean;
  /** Why the words are not all there are. */
  fault?: string;
};

/** What none of the other groups takes is a quotation mark or backslash by itself. */
const pieces =
  /\s+|;[^]*|(?<open>\()|(?<close>\))|"(?<quoted>(?:[^"\\]|\\[^])*)"|(?<plain>(?:[^\s();"\\]|\\[^])+)|(?<stray>[^])/gu;

/** Reads a line into the words of its entry; answers how many parentheses are open after it. */
function readLine(line: string, words: Word[], openBefore: number): { open: number; fault?: string } {
  let open = openBefore;
  for (const { groups = {} } of line.matchAll(pieces)) {
    const word = groups["quoted"] ?? groups["plain"];
    if (word !== undefined) words.push(word);
    if (groups["open"] !== undefined) open += 1;
    if (groups["close"] !== undefined) open -= 1;
    if (open < 0) return { open, fault: "A parenthesis is closed that was not opened" };
    if (groups["stray"] === '"') return { open, fault: "A quotation mark is not closed in its line" };
    if (groups["stray"] !== undefined) return { open, fault: "There is nothing after a backslash" };
  }
  return { open };
}

/**
 * Takes a zone file apart (RFC 1035 §5.1): comments, quotes, escapes and parentheses. An entry with a fault ends with
 * the line of the fault and has the words before it.
 */
function* entriesOf(file: string): Generator<Entry> {
  let entry: Entry | undefined;
  let open = 0;
  for (const [index, text] of file
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .entries()) {
    entry ??= { line: index + 1, text, words: [], hasName: /^\S/.test(text) };
    const read = readLine(text, entry.words, open);
    const hasEnded = read.open === 0 || read.fault !== undefined;
    open = hasEnded ? 0 : read.open;
    if (!hasEnded) continue;
    if (read.fault !== undefined) yield { ...entry, fault: read.fault };
    else if (entry.words.length > 0) yield entry;
    entry = undefined;
  }
  if (entry) yield { ...entry, fault: "A parenthesis is never closed, so that this entry has no end" };
}

type Data = Omit<RecordInput, "name" | "type" | "ttl">;

/** What comes after the type, in its order. */
const shapes: Record<
  Exclude<RecordType, "TXT">,
  readonly ("priority" | "weight" | "port" | "flags" | "tag" | "host" | "text")[]
> = {
  A: ["text"],
  AAAA: ["text"],
  CNAME: ["host"],
  NS: ["host"],
  MX: ["priority", "host"],
  SRV: ["priority", "weight", "port", "host"],
  CAA: ["flags", "tag", "text"],
};

const dnssec = new Set([
  "DS",
  "CDS",
  "DNSKEY",
  "CDNSKEY",
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "DLV",
  "KEY",
  "SIG",
  "NXT",
]);

/** Why a type is left out; undefined when it is not. */
function typeFault(type: string): string | undefined {
  if (RecordType.safeParse(type).success) return undefined;
  if (type === "SOA") return "The zone has an SOA record of its own";
  if (dnssec.has(type)) return "DNSSEC records are not offered";
  if (type === "SPF") return "Records of type SPF are obsolete (RFC 7208): write it as TXT";
  return `Records of type ${type.slice(0, 20)} are not offered: the types are ${RecordType.options.join(", ")}`;
}

/** A name of a zone file in full, with its final dot; `origin` has one too. */
function inFull(name: Word, origin: string): string {
  if (name === "@") return origin;
  return name.endsWith(".") ? name : `${name}${origin === "." ? "" : "."}${origin}`;
}

/** Words of text in one piece; one that cannot be without its quotes keeps them, for `parseRecord` to say why. */
function textOf(words: readonly Word[]): string {
  const inQuotes = words.map((word) => `"${word}"`).join(" ");
  const text = unquoted(inQuotes);
  return text === undefined || isQuoted(text) ? inQuotes : text;
}

/** Reads what is after the type; names become full by the origin. Whether the values are any good is not looked at. */
function readData(type: RecordType, words: readonly Word[], origin: string): Data | { fault: string } {
  if (type === "TXT") return words.length === 0 ? { fault: "There is no text" } : { value: textOf(words) };
  const shape = shapes[type];
  if (words.length !== shape.length) {
    const parts = shape.map((part) => (part === "host" ? "a host" : part === "text" ? "a value" : part)).join(", ");
    return { fault: `The data of a record of type ${type} are ${parts}` };
  }
  const data: Data = { value: "" };
  for (const [index, part] of shape.entries()) {
    const word = words[index] ?? "";
    if (part === "host") data.value = inFull(word, origin);
    else if (part === "text") data.value = textOf([word]);
    else if (part === "tag") data.tag = word;
    else if (/^\d{1,9}$/.test(word)) data[part] = Number(word);
    else return { fault: `${part} is not a number` };
  }
  return data;
}

/** What the entries before one mean for it (RFC 1035 §5.1, RFC 2308 §4). */
type State = {
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
function readDirective(
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
function readRecord({ words, hasName, fault }: Entry, state: State): { input: RecordInput } | { reason: string } {
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

const longestFile = 1_048_576;
const mostRecords = 5_000;
const longestShown = 200;

type ZoneFile = {
  records: { line: number; input: RecordInput }[];
  skipped: { line: number; text: string; reason: string }[];
};

/**
 * Reads a zone file (RFC 1035 §5.1, and TTLs with units as BIND has them) for a zone, which is its first origin. Every
 * entry comes out, as a record for `parseRecord` or as skipped with the reason: an SOA record, the zone's own NS
 * records, names of other zones, DNSSEC and other types that are not offered, and what cannot be read. At most 1 MiB of
 * UTF-8 and 5,000 entries are read; then the last one skipped says so. Names are normal forms; values and TTLs may be
 * wrong. Never throws.
 */
export function readZoneFile(text: string, zone: string): ZoneFile {
  const file: ZoneFile = { records: [], skipped: [] };
  const skip = (entry: Pick<Entry, "line" | "text">, reason: string): void => {
    file.skipped.push({ line: entry.line, text: entry.text.trim().slice(0, longestShown).toWellFormed(), reason });
  };
  if (Buffer.byteLength(text) > longestFile) {
    skip(
      { line: 1, text: text.slice(0, longestShown) },
      `The file is larger than 1 MiB (${longestFile} bytes): nothing was read`,
    );
    return file;
  }
  const state: State = { zone, origin: `${zone}.` };
  for (const entry of entriesOf(text)) {
    if (file.records.length + file.skipped.length >= mostRecords) {
      skip(entry, `There are more than ${mostRecords} records: nothing from here on was read`);
      return file;
    }
    if (entry.hasName && entry.fault === undefined && entry.words[0]?.startsWith("$")) {
      const trouble = readDirective(entry.words, state);
      if (trouble) skip(entry, trouble.reason);
      if (trouble?.isFatal) return file;
      continue;
    }
    const read = readRecord(entry, state);
    if ("input" in read) file.records.push({ line: entry.line, input: read.input });
    else skip(entry, read.reason);
  }
  return file;
}

const defaultTtl = 3_600;

/** A name as no server takes it for a relative one. */
const absolute = (name: string): string => (name.endsWith(".") ? name : `${name}.`);

function dataIn({ type, value, priority, weight, port, flags, tag }: ParsedRecord): string {
  switch (type) {
    case "A":
    case "AAAA":
      return value;
    case "CNAME":
    case "NS":
      return absolute(value);
    case "MX":
      return `${priority} ${absolute(value)}`;
    case "SRV":
      return `${priority} ${weight} ${port} ${absolute(value)}`;
    case "TXT":
      return quoted(value);
    default:
      return `${flags} ${tag} ${quoted(value)}`;
  }
}

/**
 * A zone as a file that other servers load (RFC 1035 §5): an SOA record, whose serial number is the time of the export
 * in seconds, the nameservers, and the records in their order. Hosts are absolute, texts are in quotes and ASCII, in
 * strings of at most 255 bytes. There is at least one nameserver.
 */
export function writeZoneFile(
  records: readonly ParsedRecord[],
  zone: string,
  { nameservers, exportedAt }: { nameservers: readonly string[]; exportedAt: Date },
): string {
  const serial = Math.floor(exportedAt.getTime() / 1_000) % 2 ** 32;
  const primary = absolute(nameservers[0] ?? zone);
  const lines = [
    `; ${zone}, exported ${exportedAt.toISOString()}`,
    `$ORIGIN ${zone}.`,
    `$TTL ${defaultTtl}`,
    `@\t${defaultTtl}\tIN\tSOA\t${primary} hostmaster.${zone}. ${serial} 7200 3600 1209600 ${defaultTtl}`,
    ...nameservers.map((host) => `@\t${defaultTtl}\tIN\tNS\t${absolute(host)}`),
    ...records.map((record) => `${record.name}\t${record.ttl}\tIN\t${record.type}\t${dataIn(record)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** A domain's records as a zone file, by name and type. */
export async function exportRecords({ account_id, id, name, nameservers }: StoredDomain, table: Reader, now: Date) {
  const records = (await recordsIn(table, account_id, id)).map(parsedOf);
  return {
    domain: name,
    record_count: records.length,
    zone_file: writeZoneFile(records, name, { nameservers, exportedAt: now }),
  };
}
