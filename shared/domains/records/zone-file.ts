import { quoted } from "./character-strings.ts";
import type { ParsedRecord, RecordInput } from "./record.ts";
import { entriesOf, type Entry } from "./zone-file-entries.ts";
import { readDirective, readRecord, type State } from "./zone-file-records.ts";

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
