import * as z from "zod";

import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { openHome, recordCountWrite, requireSpace } from "./add.ts";
import { conflictOf } from "./conflicts.ts";
import { obstacleOf, recordsAround } from "./delegations.ts";
import { parseRecord } from "./input.ts";
import { parsedOf, planRecords } from "./plan.ts";
import { type ParsedRecord, type RecordInput, sizeFault } from "./record.ts";
import { DnsRecord, recordLimit, recordsIn, type StoredRecord } from "./stored-record.ts";
import { reservedFor } from "./system-records.ts";
import { readZoneFile } from "./zone-file.ts";

/**
 * The most records and skipped entries in an answer. The answer is stored for its Idempotency-Key, and the table limits
 * the size of an item.
 */
const shownAtMost = 100;

const Skipped = z
  .object({
    line: z.int().min(1).meta({ description: "The line of the zone file on which the entry begins." }),
    text: z.string().meta({ description: "The entry's text, or its beginning." }),
    reason: z.string().meta({ description: "Why the entry is not imported, for people." }),
  })
  .meta({ id: "SkippedZoneEntry", description: "An entry of a zone file that is not imported." });
type Skipped = z.output<typeof Skipped>;

export const ImportAnswer = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    dry_run: z.boolean().meta({ description: "Whether this was a dry run, which changes nothing." }),
    created: z
      .array(DnsRecord)
      .max(shownAtMost)
      .meta({ description: "The first 100 records that were created. Empty in a dry run." }),
    created_count: z
      .int()
      .min(0)
      .meta({ description: "How many records were created, or in a dry run would be created." }),
    skipped: z
      .array(Skipped)
      .max(shownAtMost)
      .meta({ description: "The first 100 entries that are not imported, with the reason." }),
    skipped_count: z.int().min(0).meta({ description: "How many entries are not imported." }),
  })
  .meta({ id: "DnsImportResponse", description: "The result of importing a zone file." });
type ImportAnswer = z.output<typeof ImportAnswer>;

type Sorted = { fitting: ParsedRecord[]; skipped: Skipped[] };

/** Brings a TTL into the allowed range, so that no record is lost over its TTL. */
const withinTtl = (input: RecordInput): RecordInput =>
  input.ttl === undefined ? input : { ...input, ttl: Math.min(86_400, Math.max(60, input.ttl)) };

/** Entries with the delegations first, so that the addresses of their nameservers are glue wherever they stand. */
const delegationsFirst = <Entry extends { input: RecordInput }>(entries: readonly Entry[]): Entry[] => [
  ...entries.filter(({ input }) => input.type === "NS"),
  ...entries.filter(({ input }) => input.type !== "NS"),
];

/** Sorts the entries of a zone file into records that the domain can take and entries to skip. */
function sort(file: string, domain: StoredDomain, known: readonly StoredRecord[]): Sorted {
  const { records, skipped } = readZoneFile(file, domain.name);
  const sorted: Sorted = { fitting: [], skipped: [...skipped] };
  const beside = known.map(parsedOf);
  for (const { line, input } of delegationsFirst(records)) {
    const read = parseRecord(withinTtl(input), domain.name);
    const fault =
      "faults" in read
        ? read.faults.map(({ message }) => message).join("; ")
        : reasonAgainst(read.record, beside, domain.name);
    if (fault === undefined && "record" in read && beside.length >= recordLimit) {
      sorted.skipped.push({
        line,
        text: recordText(input),
        reason: `A domain can have ${recordLimit} records at most`,
      });
    } else if (fault === undefined && "record" in read) {
      sorted.fitting.push(read.record);
      beside.push({ ...read.record, id: -line });
    } else sorted.skipped.push({ line, text: recordText(input), reason: fault ?? "The entry cannot be read" });
  }
  return { ...sorted, skipped: sorted.skipped.toSorted((a, b) => a.line - b.line) };
}

const recordText = ({ name, type, value }: RecordInput): string => `${name} ${type} ${value}`.slice(0, 200);

function reasonAgainst(
  record: ParsedRecord,
  beside: readonly (ParsedRecord & { id: number })[],
  zone: string,
): string | undefined {
  const reserved = reservedFor(record);
  if (reserved !== undefined) return reserved;
  const conflict = conflictOf(record, beside);
  if (!conflict) return sizeFault(record, beside) ?? obstacleOf(record, beside, zone)?.message;
  return conflict.kind === "duplicate" ? "The domain has this record already" : conflict.message;
}

/** The records in one transaction; their entries in the audit log take part of its space too. */
const recordsAtOnce = 20;

/**
 * Adds the records of a zone file that the domain does not have. The domain's own records do not change. Each
 * transaction adds a few records; after an interruption, the same request imports the rest. 404, 409
 * `domain_not_ready`, 409 `limit_reached`.
 */
export async function importRecords(
  found: StoredDomain,
  { zone_file, dry_run }: { zone_file: string; dry_run: boolean },
  { table, commit, now }: Context,
): Promise<{ answer: (show: (record: StoredRecord) => DnsRecord) => ImportAnswer }> {
  const { home } = await openHome(table, found.account_id, found.id);
  const { fitting, skipped } = sort(zone_file, home, await recordsIn(table, home.account_id, home.id));
  const created: StoredRecord[] = [];
  const wanted = dry_run ? [] : fitting;
  for (let from = 0; from < wanted.length; from += recordsAtOnce) {
    const some = wanted.slice(from, from + recordsAtOnce);
    const added = await commit(async () => {
      const { home: current, zone } = await openHome(table, found.account_id, found.id);
      // Records that others added since the check win over those of the file.
      const known = (await recordsAround(table, current, some)).map(parsedOf);
      const still = some.filter((record) => reasonAgainst(record, known, current.name) === undefined);
      if (still.length === 0) return { value: [], writes: [], changes: [] };
      requireSpace(current, still.length);
      const { records, ...planned } = await planRecords(table, current.account_id, [{ zone, added: still }], now());
      return {
        value: records,
        writes: [recordCountWrite(current, still.length)],
        ...planned,
        partial: true,
      };
    });
    created.push(...added);
  }
  return {
    answer: (show) => ({
      domain: home.name,
      dry_run,
      created: created.slice(0, shownAtMost).map(show),
      created_count: dry_run ? fitting.length : created.length,
      skipped: skipped.slice(0, shownAtMost),
      skipped_count: skipped.length,
    }),
  };
}
