import * as z from "zod";

import { dayMs } from "../core/time.ts";
import { countEntries, entryKey, idAt, type Journal, journalKey, boundary } from "./journal-keys.ts";
import type { Reader, Table } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/*
 * The index of one day of a journal. It has the ids of the entries at the ranks 0, 32, 64 …, counted from the oldest
 * entry. These ids are called marks. A shelf is an item with up to 240 marks. With an index, a few reads find an entry
 * deep within the day, or the number of entries before a time. Without an index, entries are read from the start or the
 * end of the day.
 *
 * A worker extends the index, up to entries of the age `settledMs`. The worker leaves out newer entries, because
 * concurrent transactions do not append in the order of their ids. The counters of a day count an entry as late if it
 * is appended more than `lateMs` after its id was made. After a late entry the index is not used until the worker has
 * made the index again.
 *
 * Access patterns (PK is the journal's partition)
 *   how far a day is indexed    JOURNAL#<name>#INDEX#<yyyy-mm-dd>
 *   the marks of a day          JOURNAL#<name>#SHELF#<yyyy-mm-dd>#<shelf>, 240 in each
 */
/** The number of entries from one mark to the next. */
export const stride = 32;
const marksInShelf = 240;
const shelfSize = stride * marksInShelf;
const idBytes = 16;

/** An entry is late if it is appended more than this many milliseconds after its id was made. */
export const lateMs = 30_000;
/**
 * The age at which entries are indexed, in milliseconds. This age is greater than `lateMs`. So an entry that is
 * appended after the entries of its time were indexed counts as late, and the index is made again.
 */
export const settledMs = 90_000;

const StoredIndex = z.object({
  /**
   * The number of indexed entries. An entry with an id up to `until` is indexed if it was already appended when its
   * part of the day was indexed.
   */
  count: z.int(),
  until: z.string(),
  /** The number of late entries that the day had when the index was made. */
  late: z.int(),
  /** The id of each shelf's first entry. */
  firsts: z.instanceof(Uint8Array),
  version: z.int(),
});
type StoredIndex = z.output<typeof StoredIndex>;

const StoredShelf = z.object({ marks: z.instanceof(Uint8Array) });

/** A whole UTC day, with the counts of its entries. */
export type WholeDay = { startMs: number; count: number; late: number };

const dayName = (startMs: number): string => new Date(startMs).toISOString().slice(0, 10);
const indexKey = (journal: Journal, startMs: number): Key => journalKey(journal, `INDEX#${dayName(startMs)}`);
const shelfKey = (journal: Journal, startMs: number, shelf: number): Key =>
  journalKey(journal, `SHELF#${dayName(startMs)}#${String(shelf).padStart(6, "0")}`);

const bytesOf = (ids: readonly string[]): Uint8Array => Buffer.from(ids.join("").replaceAll("-", ""), "hex");

/** The id at a position in packed ids. */
const idIn = (packed: Uint8Array, position: number): string =>
  Buffer.from(packed.subarray(position * idBytes, (position + 1) * idBytes))
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** The position of the last packed id that sorts before `id`; -1 if there is none. */
function lastBefore(packed: Uint8Array, id: string): number {
  let [low, high] = [-1, packed.length / idBytes];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (idIn(packed, middle) < id) low = middle;
    else high = middle;
  }
  return low;
}

const isComplete = ({ until }: StoredIndex, { startMs }: WholeDay): boolean => until >= idAt(startMs + dayMs);

/** Whether an index agrees with the counters of its day. */
const isExact = (stored: StoredIndex, day: WholeDay): boolean =>
  stored.late === day.late && (isComplete(stored, day) ? stored.count === day.count : stored.count <= day.count);

/** Reads of one day by its index. A read of entries that are not indexed yet starts after the last indexed entry. */
export type DayIndex = {
  /** The number of entries of the day before a time. */
  rankAt: (atMs: number) => Promise<number>;
  /** The number of entries that `read` has to read before the entry at this rank. */
  distanceTo: (rank: number) => number;
  /** Reads `count` entries from a rank on, oldest first. */
  read: (rank: number, count: number) => Promise<Item[]>;
};

/**
 * Opens the index of a day. Returns undefined if there is no index, or if the index does not agree with the day's
 * counters.
 */
export async function openIndex(table: Reader, journal: Journal, day: WholeDay): Promise<DayIndex | undefined> {
  const stored = await table.get(indexKey(journal, day.startMs), StoredIndex);
  if (!stored || !isExact(stored, day)) return undefined;
  const { firsts, count: indexed, until } = stored;
  const { partition } = journal;
  const endMs = day.startMs + dayMs;
  const marksOf = async (shelf: number): Promise<Uint8Array> =>
    (await table.get(shelfKey(journal, day.startMs, shelf), StoredShelf))?.marks ?? new Uint8Array();
  return {
    rankAt: async (atMs) => {
      const id = idAt(atMs);
      if (id > until) return day.count - (await countEntries(table, journal, { fromMs: atMs, untilMs: endMs }));
      const shelf = lastBefore(firsts, id);
      if (shelf < 0) return 0;
      const marks = await marksOf(shelf);
      const mark = lastBefore(marks, id);
      const from = entryKey(journal, idIn(marks, mark)).SK;
      const rows = await table.between(partition, from, boundary(journal, atMs), { limit: stride });
      return shelf * shelfSize + mark * stride + rows.length;
    },
    distanceTo: (rank) => (rank < indexed ? rank % stride : rank - indexed),
    read: async (rank, count) => {
      const isIndexed = rank < indexed;
      const marks = isIndexed ? await marksOf(Math.floor(rank / shelfSize)) : undefined;
      const id = marks ? idIn(marks, Math.floor((rank % shelfSize) / stride)) : `${until}!`;
      const skip = isIndexed ? rank % stride : rank - indexed;
      const limit = skip + count;
      const rows = await table.between(partition, entryKey(journal, id).SK, boundary(journal, endMs), { limit });
      return rows.slice(skip);
    },
  };
}

/**
 * A day with at most this many entries gets no index. Until the day is over, its index is extended only if at least
 * this many entries are not indexed.
 */
const minExtension = 2 * stride;
/** The most entries that one transaction indexes. */
const stepSize = 2_000;

/**
 * Extends the index of a day to the entries that are old enough at `now`. Makes the index again if it does not agree
 * with the day's counters. Each step is a transaction, so an interrupted call loses one step. A call begins a new
 * index at most once. If the new index does not agree with `day` either, the counts in `day` are out of date, and the
 * next call makes the index again.
 */
export async function extendIndex(table: Table, journal: Journal, day: WholeDay, now: Date): Promise<void> {
  const toMs = Math.min(now.getTime() - settledMs, day.startMs + dayMs);
  let hasBegun = false;
  for (let isMore = toMs > day.startMs && day.count > minExtension; isMore;) {
    const step = await table.commit(async () => {
      const plan = await planStep(table, journal, day, toMs, !hasBegun);
      return { writes: plan?.writes ?? [], value: plan };
    });
    hasBegun ||= step?.begins ?? false;
    isMore = step?.isMore ?? false;
  }
}

/**
 * Plans one step; undefined if there is nothing to extend. `begins` says whether the step begins the index. Without
 * `mayBegin`, only an index that agrees with the day's counters is extended.
 */
async function planStep(
  table: Reader,
  journal: Journal,
  day: WholeDay,
  toMs: number,
  mayBegin: boolean,
): Promise<{ writes: Write[]; begins: boolean; isMore: boolean } | undefined> {
  const { startMs, late } = day;
  const stored = await table.get(indexKey(journal, startMs), StoredIndex);
  const version = stored?.version ?? 0;
  const isKept = stored !== undefined && isExact(stored, day);
  if (!isKept && !mayBegin) return undefined;
  const { count, until, firsts } = isKept ? stored : { count: 0, until: idAt(startMs), firsts: new Uint8Array() };
  const to = idAt(toMs);
  const isDayOver = to === idAt(startMs + dayMs);
  if (until >= to || (isKept && !isDayOver && day.count - count < minExtension)) return undefined;
  const shelf = Math.floor(count / shelfSize);
  const limit = Math.min(stepSize, shelfSize - (count % shelfSize));
  // `!` makes the key sort after the id `until`. If `until` is only the beginning of ids (`idAt`), the key sorts before
  // all of these ids.
  const from = entryKey(journal, `${until}!`).SK;
  const rows = await table.between(journal.partition, from, entryKey(journal, to).SK, { limit });
  const ids = rows.map(({ SK }) => SK.slice(entryKey(journal, "").SK.length));
  const marked = ids.filter((_, index) => (count + index) % stride === 0);
  const marks = count % shelfSize === 0 ? undefined : await table.get(shelfKey(journal, startMs, shelf), StoredShelf);
  const isMore = rows.length === limit;
  const ttl = Math.ceil((startMs + (journal.retentionDays + 3) * dayMs) / 1_000);
  const index: StoredIndex = {
    count: count + ids.length,
    until: isMore ? (ids.at(-1) ?? to) : to,
    late,
    firsts: count % shelfSize === 0 ? Buffer.concat([firsts, bytesOf(ids.slice(0, 1))]) : firsts,
    version: version + 1,
  };
  // Whether the index lacks an entry that was appended after the earlier steps, with an id before `until`. In this case
  // the next step makes the index again.
  const isIncomplete = isKept && !isMore && !isExact(index, day);
  const packed = Buffer.concat([marks?.marks ?? new Uint8Array(), bytesOf(marked)]);
  return {
    writes: [
      { put: { ...indexKey(journal, startMs), ...index, ttl }, if: version === 0 ? "absent" : { version } },
      ...(marked.length === 0 ? [] : [{ put: { ...shelfKey(journal, startMs, shelf), marks: packed, ttl } }]),
    ],
    begins: !isKept,
    isMore: isMore || isIncomplete,
  };
}
