import * as z from "zod";

import { invalidAt } from "../../core/errors.ts";
import { firstStorable } from "../../core/page.ts";
import { platform } from "../../core/platform.ts";
import type { ZoneResolver } from "../../dns/answer.ts";
import { isWithin } from "../../dns/wire-name.ts";
import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { openDomain, recordCountWrite, requireBelowRecordLimit } from "./add.ts";
import { conflictOf } from "./conflicts.ts";
import { obstacleOf, recordsAround } from "./delegations.ts";
import { findRecords, type FoundRecords } from "./find-records.ts";
import { parseRecord } from "./input.ts";
import { absoluteName } from "./names.ts";
import { parsedOf, planRecords } from "./plan.ts";
import { type ParsedRecord, type RecordInput, sizeFault } from "./record.ts";
import { DnsRecord, recordLimit, recordsIn, type StoredRecord } from "./stored-record.ts";
import { reservedFor } from "./system-records.ts";
import { quoted } from "./values.ts";
import { longestShown, readZoneFile } from "./zone-file.ts";

/**
 * How many records, and how many skipped entries, an answer shows at most. An answer shows fewer records if the records
 * are large.
 */
const shownAtMost = 100;

const Skipped = z
  .object({
    line: z.int().min(1).meta({
      description:
        "The line of the zone file on which the entry begins. For the public DNS, the number of the found record, from 1.",
    }),
    text: z.string().meta({ description: "The entry's text, or its beginning." }),
    reason: z.string().meta({ description: "Why the entry is not imported, for people." }),
  })
  .meta({ id: "SkippedZoneEntry", description: "An entry that is not imported." });
type Skipped = z.output<typeof Skipped>;

const PlannedRecord = DnsRecord.pick({
  name: true,
  type: true,
  value: true,
  ttl: true,
  priority: true,
  weight: true,
  port: true,
  flags: true,
  tag: true,
}).meta({ id: "PlannedDnsRecord", description: "A record that would be created." });
type PlannedRecord = z.output<typeof PlannedRecord>;

const plannedOf = (record: ParsedRecord): PlannedRecord => ({
  priority: null,
  weight: null,
  port: null,
  flags: null,
  tag: null,
  ...record,
});

export const ImportAnswer = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    dry_run: z.boolean().meta({ description: "Whether this was a dry run, which changes nothing." }),
    method: z.enum(["zone_file", "transfer", "lookups"]).meta({
      description:
        "`transfer` if a nameserver transferred the whole zone. `lookups` if only the usual names, and the names to which their records point, were asked for. Lookups do not find records at other names, records of the types HTTPS, SVCB, SSHFP and TLSA, and CAA records at names below the domain's name.",
    }),
    unanswered_count: z
      .int()
      .min(0)
      .meta({ description: "How many questions to the DNS got no answer. Import again later if there are any." }),
    planned: z.array(PlannedRecord).max(shownAtMost).meta({
      description:
        "The first 100 records that would be created, or fewer if they are large. Empty if this was no dry run.",
    }),
    created: z.array(DnsRecord).max(shownAtMost).meta({
      description: "The first 100 records that were created, or fewer if they are large. Empty in a dry run.",
    }),
    created_count: z
      .int()
      .min(0)
      .meta({ description: "How many records were created, or in a dry run would be created." }),
    skipped: z.array(Skipped).max(shownAtMost).meta({
      description:
        "The entries that are not imported, with the reason. If there are more than 100, the first 99 and the last one. The last one says if reading ended before the end of the file.",
    }),
    skipped_count: z.int().min(0).meta({ description: "How many entries are not imported." }),
  })
  .meta({ id: "DnsImportResponse", description: "The result of importing records." });
type ImportAnswer = z.output<typeof ImportAnswer>;

/** A record to import, with its entry: the line, and the text for people. */
type Fitting = { line: number; text: string; record: ParsedRecord };

/** The first of many entries, and the last one, because it says where reading ended. */
const shownOf = (skipped: readonly Skipped[]): Skipped[] =>
  skipped.length <= shownAtMost ? [...skipped] : [...skipped.slice(0, shownAtMost - 1), ...skipped.slice(-1)];

type Sorted = { fitting: Fitting[]; skipped: Skipped[] };

/** Brings a TTL into the allowed range, so that no entry is skipped because of its TTL. */
const withinTtl = (input: RecordInput): RecordInput =>
  input.ttl === undefined ? input : { ...input, ttl: Math.min(86_400, Math.max(60, input.ttl)) };

/** Puts delegations first, so that the addresses of their nameservers count as glue wherever they are in the file. */
const delegationsFirst = <Entry extends { input: RecordInput }>(entries: readonly Entry[]): Entry[] => [
  ...entries.filter(({ input }) => input.type === "NS"),
  ...entries.filter(({ input }) => input.type !== "NS"),
];

/** The records to import, and the entries that could not be read. `text` is for people. */
type Entries = { records: { line: number; input: RecordInput; text: string }[]; skipped: Skipped[] };

/** Sorts entries into records that the domain can take and entries to skip. */
function sortEntries({ records, skipped }: Entries, domain: StoredDomain, known: readonly StoredRecord[]): Sorted {
  const sorted: Sorted = { fitting: [], skipped: [...skipped] };
  const beside = known.map(parsedOf);
  for (const { line, input, text } of delegationsFirst(records)) {
    const read = recordThatFits(input, beside, domain);
    if ("record" in read) {
      sorted.fitting.push({ line, text, record: read.record });
      // The record has no id yet. A negative id differs from the ids of all stored records.
      beside.push({ ...read.record, id: -line });
    } else sorted.skipped.push({ line, text, reason: read.reason });
  }
  return { ...sorted, skipped: inOrder(sorted.skipped) };
}

/** The record of an entry, or the reason why a domain cannot have the record together with the records `beside`. */
function recordThatFits(
  input: RecordInput,
  beside: readonly (ParsedRecord & { id: number })[],
  domain: StoredDomain,
): { record: ParsedRecord } | { reason: string } {
  const read = parseRecord(withinTtl(input), domain.name);
  if ("faults" in read) return { reason: read.faults.map(({ message }) => message).join("; ") };
  const reason = reasonAgainst(read.record, beside, domain);
  if (reason !== undefined) return { reason };
  if (beside.length >= recordLimit) return { reason: `A domain can have ${recordLimit} records at most` };
  return read;
}

const inOrder = (skipped: readonly Skipped[]): Skipped[] => skipped.toSorted((a, b) => a.line - b.line);

/** A record as text for people, or its beginning. The members are in the order of a zone file. */
const recordText = ({ name, type, priority, weight, port, flags, tag, value }: RecordInput): string =>
  [name, type, priority, weight, port, flags, tag, value]
    .filter((member) => member !== undefined)
    .join(" ")
    .slice(0, longestShown);

/** The services by which mail programs find their servers (RFC 6186, RFC 8314 §5.1, RFC 8620 §2.2). */
const mailServices = /^_(?:imaps?|pop3s?|submissions?|sieve|jmap|autodiscover)\._tcp$/;

/**
 * The reason why a record of the former mail host is not imported, although a domain can have such a record: mail here
 * would fail. Undefined for other records.
 */
function reasonAgainstFormerHost({ name, type, value }: ParsedRecord): string | undefined {
  if (name === "_mta-sts" || name === "mta-sts") {
    return "Senders would keep to the MTA-STS policy of the former mail host, and refuse to deliver mail here. If the domain has such a policy, set mta_sts_mode to testing before you switch, so that senders fetch the new policy";
  }
  return type === "SRV" && mailServices.test(name) && !isWithin(value, platform().mailZone)
    ? "Mail programs would connect to the former mail host. Without this record, they find the servers here"
    : undefined;
}

/** The reason why a domain cannot have a record together with the records `beside`; undefined if it can. */
function reasonAgainst(
  record: ParsedRecord,
  beside: readonly (ParsedRecord & { id: number })[],
  domain: StoredDomain,
): string | undefined {
  const reserved = reservedFor(record, domain) ?? reasonAgainstFormerHost(record);
  if (reserved !== undefined) return reserved;
  const conflict = conflictOf(record, beside);
  if (!conflict) return sizeFault(record, beside) ?? obstacleOf(record, beside, domain.name)?.message;
  return conflict.kind === "duplicate" ? "The domain has this record already" : conflict.message;
}

/**
 * How many records one transaction adds. A transaction has 100 writes at most. Each record takes several writes, with
 * its entry in the audit log.
 */
const recordsAtOnce = 20;

/** Where records come from: the text of a zone file, or the public DNS. */
type ImportSource = { zone_file?: string | undefined; source: "zone_file" | "public_dns" };

/** The entries of a zone file. */
function entriesOfFile(file: string, name: string): Entries {
  const { records, skipped } = readZoneFile(file, name);
  return { records: records.map((entry) => ({ ...entry, text: recordText(entry.input) })), skipped };
}

/**
 * The records of the public DNS as entries. The line of an entry is the number of the record. The last entries are the
 * records that zones here cannot have.
 */
function entriesOfDns({ records, skipped }: FoundRecords, zone: string): Entries {
  return {
    records: records.map((record, index) => ({
      line: index + 1,
      // The final dot makes the name absolute. The quotes keep `parseRecord` from removing quotes that belong to the
      // text, and from refusing an empty value.
      input: {
        ...record,
        name: `${absoluteName(record.name, zone)}.`,
        value: record.type === "TXT" || record.value === "" ? quoted(record.value) : record.value,
      },
      text: recordText(record),
    })),
    skipped: skipped.map(({ text, reason }, index) => ({
      line: records.length + index + 1,
      text: text.slice(0, longestShown),
      reason,
    })),
  };
}

/** The entries to import, and how they were found. Throws 422 if `zone_file` does not fit `source`. */
async function entriesFrom({ zone_file, source }: ImportSource, name: string, resolver: ZoneResolver) {
  const isFile = source === "zone_file";
  if (isFile !== (zone_file !== undefined)) {
    const msg = isFile ? "Give the text of the zone file" : "Leave the zone file out if the records come from the DNS";
    throw invalidAt(["body", "zone_file"], msg);
  }
  if (zone_file !== undefined) {
    return { entries: entriesOfFile(zone_file, name), method: "zone_file", unanswered: 0 } as const;
  }
  const found = await findRecords(resolver, name);
  const { method, unanswered } = found;
  return { entries: entriesOfDns(found, name), method, unanswered };
}

/**
 * Adds a few records in one transaction. Another request may have added records since `some` was checked, and these
 * records are kept. Returns the added records, and the entries that the domain cannot take any more.
 */
const addSome = (
  { account_id, id }: StoredDomain,
  some: readonly Fitting[],
  { table, commit, now }: Context,
): Promise<{ records: StoredRecord[]; dropped: Skipped[] }> =>
  commit(async () => {
    const { domain, zone } = await openDomain(table, account_id, id);
    const parsed = some.map(({ record }) => record);
    const known = (await recordsAround(table, domain, parsed)).map(parsedOf);
    const reasons = new Map(parsed.map((record) => [record, reasonAgainst(record, known, domain)]));
    const dropped = some.flatMap(({ line, text, record }) => {
      const reason = reasons.get(record);
      return reason === undefined ? [] : [{ line, text, reason }];
    });
    const added = parsed.filter((record) => reasons.get(record) === undefined);
    if (added.length === 0) return { value: { records: [], dropped }, writes: [], changes: [], partial: true };
    requireBelowRecordLimit(domain, added.length);
    const { records, ...planned } = await planRecords(table, account_id, [{ zone, added }], now());
    return {
      value: { records, dropped },
      writes: [recordCountWrite(domain, added.length)],
      ...planned,
      partial: true,
    };
  });

/**
 * Adds records from a zone file or from the public DNS to a domain. The present records of the domain do not change.
 * Each transaction adds a few records. After an interruption, the same request adds the rest. The result is a function
 * that makes the answer. Its parameter `show` makes the API view of a created record. Throws:
 * - 422 if `zone_file` does not fit `source`;
 * - 409 `limit_reached` if the domain got too many records meanwhile;
 * - the errors of `openDomain`.
 */
export async function importRecords(
  found: StoredDomain,
  { dry_run, ...from }: ImportSource & { dry_run: boolean },
  context: Context,
  resolver: ZoneResolver,
): Promise<{ answer: (show: (record: StoredRecord) => DnsRecord) => ImportAnswer }> {
  const { table } = context;
  const { domain } = await openDomain(table, found.account_id, found.id);
  const { entries, method, unanswered } = await entriesFrom(from, domain.name, resolver);
  const { fitting, skipped } = sortEntries(entries, domain, await recordsIn(table, domain.account_id, domain.id));
  const created: StoredRecord[] = [];
  const late: Skipped[] = [];
  const toAdd = dry_run ? [] : fitting;
  for (let start = 0; start < toAdd.length; start += recordsAtOnce) {
    const done = await addSome(found, toAdd.slice(start, start + recordsAtOnce), context);
    created.push(...done.records);
    late.push(...done.dropped);
  }
  const notImported = inOrder([...skipped, ...late]);
  return {
    answer: (show) => ({
      domain: domain.name,
      dry_run,
      method,
      unanswered_count: unanswered,
      planned: firstStorable(dry_run ? fitting.map(({ record }) => plannedOf(record)) : [], shownAtMost),
      created: firstStorable(created.slice(0, shownAtMost).map(show), shownAtMost),
      created_count: dry_run ? fitting.length : created.length,
      skipped: shownOf(notImported),
      skipped_count: notImported.length,
    }),
  };
}
