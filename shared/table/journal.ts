import * as z from "zod";

import { invalidAt } from "../core/errors.ts";
import { timeOf } from "../core/ids.ts";
import type { Order } from "../core/page.ts";
import { dayMs } from "../core/time.ts";
import { type DayIndex, extendIndex, lateMs, openIndex, stride } from "./journal-index.ts";
import {
  countEntries,
  dayStartOf,
  entryKey,
  type Journal,
  journalKey,
  readSpan,
  scan,
  type Span,
} from "./journal-keys.ts";
import { readAgain } from "./read-again.ts";
import type { Ahead } from "./read-ahead.ts";
import type { Range } from "./reads.ts";
import type { Reader, Table } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/**
 * One UTC day, or the part of the day within a span. `count` and `late` are for the whole day: the number of its
 * entries, and how many of them were late (`lateMs`).
 */
type Day = Span & { count: number; late: number };

/** The end of the last year with four digits. */
export const endOfTimeMs = Date.UTC(10_000, 0, 1);

/** `yyyy-mm` of a time, in UTC. */
export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** The attribute of a month's counters in which a time is counted: `d01` to `d31`. */
export const attributeOf = (atMs: number): string => `d${new Date(atMs).toISOString().slice(8, 10)}`;

/** Whether a span covers only a part of its day. The counters have no number for a part. */
export const isCut = ({ fromMs, untilMs }: Span): boolean => untilMs - fromMs < dayMs;

/** The number of entries on all these days. */
export const entryCount = (days: readonly Pick<Day, "count">[]): number =>
  days.reduce((total, { count }) => total + count, 0);

/**
 * The days of a span that have entries, newest first. A day is clipped to the span; its counts are for the whole day.
 * `counters` are items with the counts of a month: see the access patterns below.
 */
export function daysIn({ fromMs, untilMs }: Span, counters: readonly Item[]): Day[] {
  const counts = new Map<number, { count: number; late: number }>();
  for (const { SK, ...attributes } of counters) {
    // The sort key ends with `<yyyy-mm>#<shard>`.
    const month = SK.split("#").at(-2) ?? "";
    for (const [name, value] of Object.entries(attributes)) {
      if (!/^[dl][0-3][0-9]$/.test(name)) continue;
      const startMs = Date.parse(`${month}-${name.slice(1)}`);
      const dayCounts = counts.get(startMs) ?? { count: 0, late: 0 };
      dayCounts[name.startsWith("d") ? "count" : "late"] += z.int().parse(value);
      counts.set(startMs, dayCounts);
    }
  }
  return [...counts]
    .filter(([startMs]) => startMs < untilMs && startMs + dayMs > fromMs)
    .toSorted(([a], [b]) => b - a)
    .map(([startMs, dayCounts]) => ({
      fromMs: Math.max(startMs, fromMs),
      untilMs: Math.min(startMs + dayMs, untilMs),
      ...dayCounts,
    }));
}

/**
 * The day of the entry at a rank (0 is the newest entry), and how many entries all newer days have. Throws a RangeError
 * if no day has the rank.
 */
export function dayOfRank<D extends Pick<Day, "count">>(days: readonly D[], rank: number): { day: D; before: number } {
  let before = 0;
  for (const day of days) {
    if (rank < before + day.count) return { day, before };
    before += day.count;
  }
  throw new RangeError(`The rank ${rank} is not in the ${before} entries.`);
}

/*
 * An append-only log in the order of time, with exact totals and pages. The counts of a month's days are spread over
 * eight shards. Each append raises the counts of one shard, chosen at random, so that concurrent transactions seldom
 * write to the same item. A page of whole days usually takes one query over the counters to find the day of its first
 * entry, and one or two queries for the entries. A last query over the counters tells whether entries were appended
 * meanwhile. The index of a day (journal-index.ts) finds entries deep within the day.
 *
 * Access patterns (PK is the journal's partition)
 *   entries, by the time in their id   JOURNAL#<name>#ENTRY#<UUIDv7>
 *   counts of a month's days           JOURNAL#<name>#COUNT#<yyyy-mm>#<shard>, two attributes per day: d01 to d31 for
 *                                      all entries, and l01 to l31 for late entries
 */
type JournalEntry = { id: string } & Record<string, unknown>;

const shards = 8;
const scanLimit = 20_000;

const counterKey = (journal: Journal, month: string, shard: number): Key =>
  journalKey(journal, `COUNT#${month}#${shard}`);

/**
 * The writes that append entries: one for each entry, and one for each month with an entry. The ids must be UUIDv7,
 * made at about `now`. Throws a RangeError for an id of another form. Call this function once for each journal in a
 * transaction, because a transaction cannot write a month's counters twice.
 */
export function appendEntries(journal: Journal, rows: readonly JournalEntry[], now: Date): Write[] {
  // The table deletes entries some time after the retention is over. Of the two additional days, the first is needed
  // because lists show whole days. The second allows for clocks that disagree.
  const ttl = Math.ceil((now.getTime() + (journal.retentionDays + 2) * dayMs) / 1000);
  const shard = Math.floor(Math.random() * shards);
  const counts = new Map<string, Record<string, number>>();
  for (const { id } of rows) {
    const atMs = timeOf(id)?.getTime();
    if (atMs === undefined) throw new RangeError(`${id} is not a UUIDv7.`);
    const days = counts.get(monthOf(atMs)) ?? {};
    const day = attributeOf(atMs);
    const isLate = now.getTime() - atMs > lateMs;
    for (const name of isLate ? [day, day.replace("d", "l")] : [day]) days[name] = (days[name] ?? 0) + 1;
    counts.set(monthOf(atMs), days);
  }
  return [
    ...rows.map((row): Write => ({ put: { ...row, ...entryKey(journal, row.id), ttl }, if: "absent" })),
    ...[...counts].map(([month, add]): Write => ({ update: counterKey(journal, month, shard), set: { ttl }, add })),
  ];
}

type ReadOptions = {
  skip: number;
  take: number;
  order?: Order;
  since?: Date;
  until?: Date;
  keep?: (row: Item) => boolean;
};
type JournalPage = { rows: Item[]; total: number };

/**
 * Reads the entries of ranks `skip` to `skip + take − 1`, newest first or, with `asc`, oldest first, and the exact
 * total. The range of entries is from `since` (included) to `until` (not included).
 * - Whole UTC days older than the retention are left out.
 * - With `keep`, only the entries for which `keep` returns true are listed and counted. The whole range is read. If the
 *   range has more than 20,000 entries, throws InvalidInput at `query.since`.
 * - Without `keep`, throws 503 `busy` if entries are appended during every try.
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
 * Reads a page by the counters; undefined if entries were appended meanwhile, because a new entry moves the older
 * entries to later ranks.
 */
async function readPage(
  table: Reader,
  journal: Journal,
  span: Span,
  { skip, take, order = "desc" }: Pick<ReadOptions, "skip" | "take" | "order">,
): Promise<JournalPage | undefined> {
  const days = await readDays(table, journal, span);
  const parts = await Promise.all(days.map((day) => partOf(table, journal, day)));
  const total = entryCount(parts);
  const count = Math.max(0, Math.min(take, total - skip));
  if (count === 0) return { rows: [], total };
  const first = order === "desc" ? skip : total - skip - count;
  const newestFirst = await readRanks(table, journal, span.fromMs, parts, first, count);
  const rows = order === "desc" ? newestFirst : newestFirst.toReversed();
  const isSame = entryCount(await readDays(table, journal, span)) === entryCount(days);
  return isSame ? { rows, total } : undefined;
}

function spanOf({ retentionDays }: Journal, { since, until }: Pick<ReadOptions, "since" | "until">, now: Date): Span {
  const oldestMs = (Math.floor(now.getTime() / dayMs) - retentionDays) * dayMs;
  return {
    fromMs: Math.max(since?.getTime() ?? 0, oldestMs, 0),
    untilMs: Math.min(until?.getTime() ?? Infinity, endOfTimeMs),
  };
}

/** The counters of the months of a span. */
const countersOf = (journal: Journal, { fromMs, untilMs }: Span): Range => ({
  partition: journal.partition,
  from: counterKey(journal, monthOf(fromMs), 0).SK,
  to: counterKey(journal, monthOf(untilMs - 1), shards).SK,
});

/**
 * The counters that `readEntries` reads first. Without `since`, the range begins with the oldest counters that the
 * table still has.
 */
export function aheadOfEntries(journal: Journal, options: Pick<ReadOptions, "since" | "until">): Ahead {
  const span = spanOf(journal, options, new Date(0));
  return span.fromMs < span.untilMs ? { ranges: [countersOf(journal, span)] } : {};
}

async function readDays(table: Reader, journal: Journal, span: Span): Promise<Day[]> {
  const { partition, from, to } = countersOf(journal, span);
  return daysIn(span, await table.between(partition, from, to));
}

/**
 * The part of a day that a span covers, with the exact number of its entries. `end` is the number of entries from the
 * start of the day to the end of the part. `end` is undefined if only a read of the day could tell the number.
 */
type Part = Span & { count: number; end: number | undefined; index: () => Promise<DayIndex | undefined> };

async function partOf(table: Reader, journal: Journal, { fromMs, untilMs, ...counts }: Day): Promise<Part> {
  const day = { startMs: dayStartOf(fromMs), ...counts };
  const index = () => openIndex(table, journal, day);
  if (!isCut({ fromMs, untilMs })) return { fromMs, untilMs, count: day.count, end: day.count, index };
  const opened = await index();
  if (!opened) {
    const count = await countEntries(table, journal, { fromMs, untilMs });
    return { fromMs, untilMs, count, end: undefined, index };
  }
  const endMs = day.startMs + dayMs;
  const [start, end] = await Promise.all([
    fromMs === day.startMs ? 0 : opened.rankAt(fromMs),
    untilMs === endMs ? day.count : opened.rankAt(untilMs),
  ]);
  return { fromMs, untilMs, count: end - start, end, index: async () => opened };
}

/** If a page would have to read more unwanted entries than this, the index of the day is opened. */
const nearby = 2 * stride;

/**
 * Reads `count` entries from rank `skip` on. In the day of the first entry, the read starts where it reads the fewest
 * unwanted entries: at the newest entry, at the oldest entry or at a mark of the index.
 */
async function readRanks(
  table: Reader,
  journal: Journal,
  fromMs: number,
  parts: readonly Part[],
  skip: number,
  count: number,
): Promise<Item[]> {
  const { day, before } = dayOfRank(parts, skip);
  // How many entries of this day are newer than the page, and how many are not.
  const newer = skip - before;
  const left = day.count - newer;
  // How many entries of the page are on older days.
  const older = Math.max(0, count - left);
  // How many entries of this day are older than the page.
  const unwanted = left + older - count;
  const index = Math.min(newer, unwanted) > nearby && day.end !== undefined ? await day.index() : undefined;
  // The position of the page's oldest entry, from the start of the day.
  const rank = (day.end ?? 0) - newer - count;
  if (index && index.distanceTo(rank) < Math.min(newer, unwanted)) return (await index.read(rank, count)).toReversed();
  if (newer <= unwanted) {
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
  { skip, take, order = "desc", keep }: ReadOptions & { keep: (row: Item) => boolean },
): Promise<JournalPage> {
  // The counts of whole days are an upper bound. Days that are only partly in the span are counted exactly only if this
  // bound is above the limit.
  if (entryCount(days) > scanLimit) {
    requireScannable(entryCount(await Promise.all(days.map((day) => partOf(table, journal, day)))));
  }
  const rows: Item[] = [];
  let total = 0;
  const visit = (row: Item): void => {
    if (!keep(row)) return;
    if (total >= skip && rows.length < take) rows.push(row);
    total += 1;
  };
  await scan(table, journal, span, visit, order);
  return { rows, total };
}

/** Throws InvalidInput for a range with more entries than a search covers. */
function requireScannable(count: number): void {
  if (count <= scanLimit) return;
  const msg = `This range has ${count} entries, and a search covers ${scanLimit} at most. Narrow the range with since and until`;
  throw invalidAt(["query", "since"], msg);
}

/**
 * Extends the indexes of the days from `since` on, the newest first. Each step is stored by itself, so an error loses
 * one step only.
 */
export async function indexEntries(
  table: Table,
  journal: Journal,
  { since }: { since: Date },
  now: Date,
): Promise<void> {
  const span = spanOf(journal, { since }, now);
  for (const { fromMs, untilMs: _, ...counts } of await readDays(table, journal, span)) {
    await extendIndex(table, journal, { startMs: dayStartOf(fromMs), ...counts }, now);
  }
}
