import * as z from "zod";

import { InvalidInput } from "../core/errors.ts";
import { timeOf } from "../core/ids.ts";
import { dayMs } from "../core/time.ts";
import { readAgain } from "./read-again.ts";
import type { Reader } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/** A span of time from `fromMs` (included) to `untilMs` (not included), in milliseconds since 1970 in UTC. */
type Span = { fromMs: number; untilMs: number };

/** The number of entries on one UTC day, or on the part of it that a range covers. */
type Day = Span & { count: number };

/** The end of the last year with four digits. */
export const endOfTimeMs = Date.UTC(10_000, 0, 1);

/** `yyyy-mm` of a time, in UTC. */
export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** The attribute of a month's counters in which a time is counted: `d01` to `d31`. */
export const attributeOf = (atMs: number): string => `d${new Date(atMs).toISOString().slice(8, 10)}`;

/**
 * Whether a span covers only a part of its day. The counters count whole days, so they do not know the number for a
 * part.
 */
export const isCut = ({ fromMs, untilMs }: Span): boolean => untilMs - fromMs < dayMs;

/** The number of entries on all these days. */
export const entryCount = (days: readonly Day[]): number => days.reduce((total, { count }) => total + count, 0);

/** The days of a span that have entries, newest first and clipped to the span, each with the count of its whole day. */
export function daysIn({ fromMs, untilMs }: Span, counters: readonly Item[]): Day[] {
  const counts = new Map<number, number>();
  for (const { SK, ...attributes } of counters) {
    const month = SK.split("#").at(-2) ?? "";
    for (const [name, count] of Object.entries(attributes)) {
      if (!/^d[0-3][0-9]$/.test(name)) continue;
      const startMs = Date.parse(`${month}-${name.slice(1)}`);
      counts.set(startMs, (counts.get(startMs) ?? 0) + z.int().parse(count));
    }
  }
  return [...counts]
    .filter(([startMs]) => startMs < untilMs && startMs + dayMs > fromMs)
    .toSorted(([a], [b]) => b - a)
    .map(([startMs, count]) => ({
      fromMs: Math.max(startMs, fromMs),
      untilMs: Math.min(startMs + dayMs, untilMs),
      count,
    }));
}

/** The day that holds a rank (0 is the newest entry), and how many entries are newer than that day. */
export function dayOfRank(days: readonly Day[], rank: number): { day: Day; before: number } {
  let before = 0;
  for (const day of days) {
    if (rank < before + day.count) return { day, before };
    before += day.count;
  }
  throw new RangeError(`The rank ${rank} is not in the ${before} entries.`);
}

/*
 * An append-only log in the order of time, with exact totals and pages. Concurrent transactions append
 * without touching the same item: the counts of a month's days are spread over eight shards, of which
 * each transaction raises one at random. A page is one query over the counters, which tell the day that
 * holds its first entry, and one or two queries that skip inside of that day only.
 *
 * Access patterns (PK is the journal's partition)
 *   entries, by the time in their id   JOURNAL#<name>#ENTRY#<UUIDv7>
 *   counts of a month's days           JOURNAL#<name>#COUNT#<yyyy-mm>#<shard>, one attribute per day: d01 to d31
 */
export type Journal = { partition: string; name: string; retentionDays: number };

type JournalEntry = { id: string } & Record<string, unknown>;

const shards = 8;
const scanLimit = 20_000;
const chunkSize = 1_000;

/** The key of the entry with this id (UUIDv7). */
export const entryKey = (journal: Journal, id: string): Key => ({
  PK: journal.partition,
  SK: `JOURNAL#${journal.name}#ENTRY#${id}`,
});

const counterKey = (journal: Journal, month: string, shard: number): Key => ({
  PK: journal.partition,
  SK: `JOURNAL#${journal.name}#COUNT#${month}#${shard}`,
});

/**
 * The writes that append entries: one for each entry, and one for each month with an entry. The ids are UUIDv7 made at
 * about `now`. A transaction may contain them only once per journal, because it cannot write an item twice.
 */
export function appendEntries(journal: Journal, rows: readonly JournalEntry[], now: Date): Write[] {
  // The table may delete entries when the retention is over. The two additional days are for clocks that disagree.
  const ttl = Math.ceil((now.getTime() + (journal.retentionDays + 2) * dayMs) / 1000);
  const shard = Math.floor(Math.random() * shards);
  const counts = new Map<string, Record<string, number>>();
  for (const { id } of rows) {
    const atMs = timeOf(id)?.getTime();
    if (atMs === undefined) throw new RangeError(`${id} is not a UUIDv7.`);
    const days = counts.get(monthOf(atMs)) ?? {};
    const day = attributeOf(atMs);
    counts.set(monthOf(atMs), { ...days, [day]: (days[day] ?? 0) + 1 });
  }
  return [
    ...rows.map((row): Write => ({ put: { ...row, ...entryKey(journal, row.id), ttl }, if: "absent" })),
    ...[...counts].map(([month, add]): Write => ({ update: counterKey(journal, month, shard), set: { ttl }, add })),
  ];
}

type ReadOptions = { skip: number; take: number; since?: Date; until?: Date; keep?: (row: Item) => boolean };
type JournalPage = { rows: Item[]; total: number };

/**
 * Reads the entries of ranks `skip` to `skip + take − 1`, newest first, and the exact total, from `since` on and before
 * `until`.
 * - Whole UTC days older than the retention are left out.
 * - With `keep`, only the entries for which it returns true are listed and counted. This reads the whole range; a range
 *   of more than 20,000 entries throws InvalidInput at `query.since`.
 */
export async function readEntries(
  table: Reader,
  journal: Journal,
  options: ReadOptions,
  now: Date,
): Promise<JournalPage> {
  const span = spanOf(journal, options, now);
  if (span.fromMs >= span.untilMs) return { rows: [], total: 0 };
  const { keep } = options;
  if (keep) return readKept(table, journal, span, await readDays(table, journal, span), { ...options, keep });
  return readAgain(() => readPage(table, journal, span, options));
}

/**
 * Reads a page by the counters; undefined if entries were appended meanwhile, because they push the others to later
 * ranks.
 */
async function readPage(
  table: Reader,
  journal: Journal,
  span: Span,
  { skip, take }: Pick<ReadOptions, "skip" | "take">,
): Promise<JournalPage | undefined> {
  const days = await readDays(table, journal, span);
  const exact = await countCutDays(table, journal, days);
  const total = entryCount(exact);
  const count = Math.max(0, Math.min(take, total - skip));
  if (count === 0) return { rows: [], total };
  const rows = await readRanks(table, journal, span.fromMs, exact, skip, count);
  const isSame = entryCount(await readDays(table, journal, span)) === entryCount(days);
  return isSame ? { rows, total } : undefined;
}

function spanOf({ retentionDays }: Journal, { since, until }: ReadOptions, now: Date): Span {
  const oldestMs = (Math.floor(now.getTime() / dayMs) - retentionDays) * dayMs;
  return {
    fromMs: Math.max(since?.getTime() ?? 0, oldestMs, 0),
    untilMs: Math.min(until?.getTime() ?? Infinity, endOfTimeMs),
  };
}

async function readDays(table: Reader, journal: Journal, span: Span): Promise<Day[]> {
  const first = counterKey(journal, monthOf(span.fromMs), 0).SK;
  const last = counterKey(journal, monthOf(span.untilMs - 1), shards).SK;
  return daysIn(span, await table.between(journal.partition, first, last));
}

/** Returns the days with exact counts: the entries of a day that the range covers only in part are read and counted. */
const countCutDays = (table: Reader, journal: Journal, days: readonly Day[]): Promise<Day[]> =>
  Promise.all(
    days.map(async (day) => {
      if (!isCut(day)) return day;
      let count = 0;
      await scan(table, journal, day, () => (count += 1));
      return { ...day, count };
    }),
  );

/** A sort key after all entries before this time and before all others: the beginning of a UUIDv7 of this time. */
function boundary(journal: Journal, atMs: number): string {
  const hex = atMs.toString(16).padStart(12, "0");
  return entryKey(journal, `${hex.slice(0, 8)}-${hex.slice(8)}`).SK;
}

function readSpan(table: Reader, journal: Journal, { fromMs, untilMs }: Span, limit: number, newestFirst: boolean) {
  const [from, until] = [boundary(journal, fromMs), boundary(journal, untilMs)];
  return table.between(journal.partition, from, until, { limit, newestFirst });
}

/** Reads `count` entries from rank `skip` on. The day of the first one is read from its nearer end. */
async function readRanks(
  table: Reader,
  journal: Journal,
  fromMs: number,
  days: readonly Day[],
  skip: number,
  count: number,
): Promise<Item[]> {
  const { day, before } = dayOfRank(days, skip);
  const newer = skip - before;
  const left = day.count - newer;
  const older = Math.max(0, count - left);
  if (newer + count <= left + older) {
    return (await readSpan(table, journal, { ...day, fromMs }, newer + count, true)).slice(newer);
  }
  const [inDay, afterDay] = await Promise.all([
    readSpan(table, journal, day, left, false),
    older === 0 ? [] : readSpan(table, journal, { fromMs, untilMs: day.fromMs }, older, true),
  ]);
  return [...inDay.toReversed().slice(0, count), ...afterDay];
}

async function readKept(
  table: Reader,
  journal: Journal,
  span: Span,
  days: readonly Day[],
  { skip, take, keep }: { skip: number; take: number; keep: (row: Item) => boolean },
): Promise<JournalPage> {
  // The counts of whole days are an upper bound. Only if that is too high is it worth reading the cut days to count
  // exactly.
  if (entryCount(days) > scanLimit) refuseOver(entryCount(await countCutDays(table, journal, days)));
  const rows: Item[] = [];
  let total = 0;
  await scan(table, journal, span, (row) => {
    if (!keep(row)) return;
    if (total >= skip && rows.length < take) rows.push(row);
    total += 1;
  });
  return { rows, total };
}

function refuseOver(count: number): void {
  if (count <= scanLimit) return;
  const msg = `This range has ${count} entries, and a search covers ${scanLimit} at most. Narrow the range with since and until`;
  throw new InvalidInput([{ loc: ["query", "since"], msg, type: "value_error" }]);
}

/** Visits the entries of a span, newest first, in chunks, so that they need not fit into memory together. */
async function scan(table: Reader, journal: Journal, span: Span, visit: (row: Item) => void): Promise<void> {
  const from = boundary(journal, span.fromMs);
  let until = boundary(journal, span.untilMs);
  for (;;) {
    // `between` includes its ends, so from the second chunk on the first row repeats the last row of the chunk before.
    const chunk = await table.between(journal.partition, from, until, { limit: chunkSize, newestFirst: true });
    for (const row of chunk) if (row.SK < until) visit(row);
    const last = chunk.at(-1);
    if (!last || chunk.length < chunkSize) return;
    until = last.SK;
  }
}
