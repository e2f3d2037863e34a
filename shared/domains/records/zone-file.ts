import { notFound } from "../../core/errors.ts";
import { longestSpelling } from "../../dns/labels.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { Expected } from "../../http/route.ts";
import { apexTtlSeconds, soaOf, soaTtlSeconds } from "../../providers/dns/dns.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { aheadOfDomain, expectedDomainId } from "../find.ts";
import { getZone, rrsetName, soaOwner, type ZoneHead, zoneKey } from "../zone.ts";
import { readRecordName } from "./names.ts";
import { parsedOf } from "./plan.ts";
import type { ParsedRecord, RecordInput } from "./record.ts";
import { recordsIn, recordsRange } from "./stored-record.ts";
import { isQuoted, quoted, unquoted } from "./values.ts";

/**
 * One word of an entry. Its escapes are kept, and the quotes around it are removed. Quotes after an equals sign are
 * kept, as in `alpn="h2"`.
 */
type Word = string;

/** One entry of a zone file: a line, or several lines joined by parentheses. */
type ZoneEntry = {
  /** The number of the entry's first line, from 1. */
  line: number;
  /** The text of the entry's first line. */
  text: string;
  words: Word[];
  /** Whether the entry begins with a name. An entry that begins with a blank has the name of the entry before it. */
  hasName: boolean;
  /** The reason why `words` is incomplete. */
  fault?: string;
};

/**
 * The group `pair` matches a parameter of RFC 9460 with its quotes: `alpn="h2,h3"`. The group `stray` matches only a
 * lone quotation mark or backslash.
 */
const pieces =
  /\s+|;[^]*|(?<open>\()|(?<close>\))|(?<pair>[a-z0-9-]+="(?:[^"\\]|\\[^])*")(?=[\s;()]|$)|"(?<quoted>(?:[^"\\]|\\[^])*)"|(?<plain>(?:[^\s();"\\]|\\[^])+)|(?<stray>[^])/gu;

/** Adds the words of a line to an entry; returns the number of parentheses that are open after the line. */
function readLine(line: string, words: Word[], openBefore: number): { open: number; fault?: string } {
  let open = openBefore;
  for (const { groups = {} } of line.matchAll(pieces)) {
    const word = groups["pair"] ?? groups["quoted"] ?? groups["plain"];
    if (word !== undefined) words.push(word);
    if (groups["open"] !== undefined) open += 1;
    if (groups["close"] !== undefined) open -= 1;
    if (open < 0) return { open, fault: "A closing parenthesis has no opening parenthesis" };
    if (groups["stray"] === '"') return { open, fault: "A quotation is not closed in its line" };
    if (groups["stray"] !== undefined) return { open, fault: "There is nothing after a backslash" };
  }
  return { open };
}

/**
 * Splits a zone file into entries (RFC 1035 §5.1). Reads comments, quotes, escapes and parentheses. An entry with a
 * fault ends with the line of the fault, and has the words before the fault.
 */
function* entriesOf(file: string): Generator<ZoneEntry> {
  let entry: ZoneEntry | undefined;
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
  if (entry) yield { ...entry, fault: "A parenthesis is not closed, so this entry has no end" };
}

type RecordData = Omit<RecordInput, "name" | "type" | "ttl">;

/**
 * For each type, the fields of a record in a zone file, in their order after the type. `readData` reads the types that
 * are not listed here in other ways.
 */
const shapes: Record<
  Exclude<RecordType, "TXT" | "TLSA" | "SSHFP" | "HTTPS" | "SVCB">,
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

/** The fields of `shapes` that messages call by another name. */
const shownFields: Partial<Record<string, string>> = { host: "a host", text: "a value" };

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

/**
 * Whether the nameservers of a zone make the records of this type themselves: SOA and the types of DNSSEC. Such records
 * are not imported, because the nameservers here do not use the records of other nameservers.
 */
export const isOfNameservers = (type: string): boolean => type === "SOA" || dnssec.has(type);

/** The reason why records of a type are skipped; undefined if they can be imported. */
export function typeFault(type: string): string | undefined {
  if (RecordType.safeParse(type).success) return undefined;
  if (type === "SOA") return "The zone has an SOA record of its own";
  if (dnssec.has(type)) return "DNSSEC records are not offered";
  if (type === "SPF") return "Records of type SPF are obsolete (RFC 7208). Write the record as TXT";
  return `Records of type ${type.slice(0, 20)} are not offered. The types are ${RecordType.options.join(", ")}`;
}

/** The full form of a name in a zone file, with its final dot. `origin` has a final dot too. */
function inFull(name: Word, origin: string): string {
  if (name === "@") return origin;
  return name.endsWith(".") ? name : `${name}${origin === "." ? "" : "."}${origin}`;
}

/**
 * Matches only words that the group `pair` has found. In any other word, each quotation mark has a backslash before it,
 * so none follows the equals sign directly.
 */
const pair = /^([a-z0-9-]+=)"(.*)"$/s;

/**
 * Joins words to a text without quotes. If the words cannot be unquoted, or the text would still be in quotes, returns
 * the words in quotes. `parseRecord` then reports the fault.
 */
function joinedText(words: readonly Word[]): string {
  const strings = words.flatMap((word) => pair.exec(word)?.slice(1) ?? [word]);
  const inQuotes = strings.map((word) => `"${word}"`).join(" ");
  const text = unquoted(inQuotes);
  return text === undefined || isQuoted(text) ? inQuotes : text;
}

/** The fields of an HTTPS or SVCB record: a priority, a target and any number of parameters. */
function serviceData(
  [priority = "", target, ...params]: readonly Word[],
  origin: string,
): RecordData | { fault: string } {
  if (target === undefined) return { fault: "The data must be priority, a target, and parameters" };
  if (!isNumber(priority)) return { fault: "priority is not a number" };
  return { priority: Number(priority), value: [inFull(target, origin), ...params].join(" ") };
}

const isNumber = (word: Word): boolean => /^\d{1,9}$/.test(word);

/**
 * Reads the fields after the type. Relative names are completed with the origin. The values themselves are not checked.
 */
function readData(type: RecordType, words: readonly Word[], origin: string): RecordData | { fault: string } {
  if (type === "TXT") return words.length === 0 ? { fault: "The record has no text" } : { value: joinedText(words) };
  // `parseRecord` reads the fields of these types.
  if (type === "TLSA" || type === "SSHFP") return { value: words.join(" ") };
  if (type === "HTTPS" || type === "SVCB") return serviceData(words, origin);
  const shape = shapes[type];
  if (words.length !== shape.length) {
    const parts = shape.map((part) => shownFields[part] ?? part).join(", ");
    return { fault: `The data of a record of type ${type} must be ${parts}` };
  }
  const data: RecordData = { value: "" };
  for (const [index, part] of shape.entries()) {
    const word = words[index] ?? "";
    if (part === "host") data.value = inFull(word, origin);
    // `parseRecord` takes an empty value only in quotes.
    else if (part === "text") data.value = word === "" ? '""' : joinedText([word]);
    else if (part === "tag") data.tag = word;
    else if (isNumber(word)) data[part] = Number(word);
    else return { fault: `${part} is not a number` };
  }
  return data;
}

/** The state that earlier entries leave for the next entry (RFC 1035 §5.1, RFC 2308 §4). */
type ZoneState = {
  zone: string;
  origin: string;
  defaultTtl?: number;
  lastTtl?: number;
  lastName?: string;
};

const secondsIn: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Reads a time in seconds, written as `3600` or, as in BIND, `1h30m`; undefined if it is no time. */
function readTtl(word: Word): number | undefined {
  if (!/^(?:\d{1,10}|(?:\d{1,10}[smhdw])+)$/i.test(word)) return undefined;
  const parts = [...word.toLowerCase().matchAll(/(\d+)([smhdw]?)/g)];
  return parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * (secondsIn[unit] ?? 1), 0);
}

/** Applies `$ORIGIN` and `$TTL`. A fault is fatal if the names in the following entries cannot be known. */
function readDirective(
  [directive = "", ...words]: Word[],
  state: ZoneState,
): { reason: string; isFatal?: true } | undefined {
  const [word = ""] = words;
  if (/^\$origin$/i.test(directive)) {
    const origin = inFull(word, state.origin);
    if (words.length === 1 && origin.length <= longestSpelling) state.origin = origin;
    else return { reason: "$ORIGIN needs one name. Nothing from this line on was read", isFatal: true };
    return undefined;
  }
  if (/^\$ttl$/i.test(directive)) {
    const ttl = readTtl(word);
    if (ttl === undefined || words.length !== 1) return { reason: "$TTL needs one number of seconds" };
    state.defaultTtl = ttl;
    return undefined;
  }
  if (/^\$include$/i.test(directive)) return { reason: "Other files are not included. Import them separately" };
  if (/^\$generate$/i.test(directive)) return { reason: "$GENERATE is not offered. Write the records out" };
  return { reason: "This directive is not known" };
}

/** Reads the TTL and class, in either order, and returns the words after them. */
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

/** Reads an entry into a record, or returns the reason to skip it. Notes its name and TTL for the entries after it. */
function readRecord(
  { words, hasName, fault }: ZoneEntry,
  state: ZoneState,
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
  if (word === "") return { reason: "The entry has no type" };
  const type = word.toUpperCase();
  const unknown = dnsClass === "IN" ? typeFault(type) : `Records of class ${dnsClass} are not offered`;
  if (unknown !== undefined) return { reason: unknown };
  if (state.lastName === undefined) return { reason: "The entry has no name, and no entry before it has one" };
  const name = readRecordName(state.lastName, state.zone);
  if ("fault" in name) return { reason: name.fault };
  const offered = RecordType.parse(type);
  if (offered === "NS" && name.value === "@") return { reason: "The nameservers of the zone itself are fixed" };
  const read = readData(offered, data, state.origin);
  if ("fault" in read) return { reason: read.fault };
  const effectiveTtl = ttl ?? state.defaultTtl ?? state.lastTtl;
  return {
    input: { name: name.value, type: offered, ...read, ...(effectiveTtl === undefined ? {} : { ttl: effectiveTtl }) },
  };
}

const longestFile = 1_048_576;
const mostEntries = 5_000;
/** How many characters of an entry's text are shown at most. */
export const longestShown = 200;

type ZoneFile = {
  records: { line: number; input: RecordInput }[];
  skipped: { line: number; text: string; reason: string }[];
};

/**
 * Reads a zone file (RFC 1035 §5.1, and TTLs with units as in BIND). `zone` is the first origin. Never throws.
 * - Each entry becomes a record for `parseRecord`, or is skipped with a reason.
 * - These entries are skipped: an SOA record, the zone's own NS records, names of other zones, DNSSEC and other types
 *   that are not offered, and entries that cannot be read.
 * - A file of more than 1 MiB of UTF-8 is not read at all. The only skipped entry says so.
 * - Only the first 5,000 entries are read. If there are more, the last skipped entry says so.
 * - Nothing after a wrong `$ORIGIN` is read. The last skipped entry says so.
 * - Names are in normal form; values and TTLs may be wrong.
 */
export function readZoneFile(text: string, zone: string): ZoneFile {
  const file: ZoneFile = { records: [], skipped: [] };
  const skip = (entry: Pick<ZoneEntry, "line" | "text">, reason: string): void => {
    file.skipped.push({ line: entry.line, text: entry.text.trim().slice(0, longestShown).toWellFormed(), reason });
  };
  if (Buffer.byteLength(text) > longestFile) {
    skip(
      { line: 1, text: text.slice(0, longestShown) },
      `The file is larger than 1 MiB (${longestFile} bytes). Nothing was read`,
    );
    return file;
  }
  const state: ZoneState = { zone, origin: `${zone}.` };
  for (const entry of entriesOf(text)) {
    if (file.records.length + file.skipped.length >= mostEntries) {
      skip(entry, `There are more than ${mostEntries} entries. Nothing from this line on was read`);
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

/** The name with a final dot, so that no server reads it as relative. */
const absolute = (name: string): string => (name.endsWith(".") ? name : `${name}.`);

/** The data of a record as a zone file has them: the fields after the type. */
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
    case "TLSA":
    case "SSHFP":
      return value;
    case "HTTPS":
    case "SVCB":
      return `${priority} ${value.replace(/^[^ ]+/, absolute)}`;
    default:
      return `${flags} ${tag} ${quoted(value)}`;
  }
}

/** The entry of a record in a zone file. */
const entryOf = (record: ParsedRecord, ttl = record.ttl): string =>
  `${record.name}\t${ttl}\tIN\t${record.type}\t${dataIn(record)}`;

/**
 * For each name and type, the lowest TTL of the records. The nameservers give this TTL to all records of the name and
 * type (RFC 2181 §5.2).
 */
function lowestTtls(records: readonly ParsedRecord[]): Map<string, number> {
  const ttls = new Map<string, number>();
  for (const one of records) ttls.set(rrsetName(one), Math.min(one.ttl, ttls.get(rrsetName(one)) ?? one.ttl));
  return ttls;
}

/**
 * Writes a zone as a file that other servers can load (RFC 1035 §5), with the values and TTLs that the nameservers
 * have.
 * - It has an SOA record, the nameservers, and the records in their order.
 * - Hosts are absolute; texts are ASCII strings in quotes, of at most 255 bytes each.
 * - `nameservers` must not be empty.
 */
export function writeZoneFile(records: readonly ParsedRecord[], zone: ZoneHead, exportedAt: Date): string {
  const { name, nameservers } = zone;
  const soa = soaOf(soaOwner(zone));
  const times = [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum].join(" ");
  const ttls = lowestTtls(records);
  const lines = [
    `; ${name}, exported ${exportedAt.toISOString()}`,
    `$ORIGIN ${name}.`,
    `$TTL ${defaultTtl}`,
    `@\t${soaTtlSeconds}\tIN\tSOA\t${absolute(soa.mname)} ${absolute(soa.rname)} ${times}`,
    ...nameservers.map((host) => `@\t${apexTtlSeconds}\tIN\tNS\t${absolute(host)}`),
    ...records.map((record) => entryOf(record, ttls.get(rrsetName(record)))),
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * The items that an export reads: the domain, its zone and its records. If this process has not seen the domain, the
 * zone and the records are left out, because their keys need the id of the domain.
 */
export function aheadOfExport(accountId: string, ref: string, expected: Expected): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, accountId, ref);
  const id = expectedDomainId(expected.seen, accountId, ref);
  if (id === undefined) return { ...ahead, keys };
  return { ...ahead, keys: [...keys, zoneKey(accountId, id)], ranges: [recordsRange(accountId, id)] };
}

/** Exports a domain's records as a zone file, ordered by name and type. Throws 404 if the domain has no zone. */
export async function exportRecords({ account_id, id }: StoredDomain, table: Reader, now: Date) {
  const [stored, zone] = await Promise.all([recordsIn(table, account_id, id), getZone(table, account_id, id)]);
  if (!zone) throw notFound();
  return {
    domain: zone.name,
    record_count: stored.length,
    zone_file: writeZoneFile(stored.map(parsedOf), zone, now),
  };
}
