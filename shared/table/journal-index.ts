import * as z from "zod";

import { dayMs } from "../core/time.ts";
import { countEntries, entryKey, idAt, type Journal, journalKey, boundary } from "./journal-keys.ts";
import type { Reader, Table } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/*
 * The index of a journal's day: the ids of its entries at the ranks 0, 32, 64 …, counted from the oldest entry. It finds
 * an entry deep within the day, and the number of entries before a time, by a few reads. A day without an index is read
 * from its ends.
 *
 * A worker extends the index behind the newest entries, because concurrent transactions do not append in the order of
 * their ids. An entry that is appended later than `lateMs` after its id was made is counted as late by the day's
 * counters. An index that was made before a day's last late entry is not used, and is made again.
 *
 * Access patterns (PK is the journal's partition)
 *   how far a day is indexed    JOURNAL#<name>#INDEX#<yyyy-mm-dd>
 *   the ids at its ranks        JOURNAL#<name>#SHELF#<yyyy-mm-dd>#<shelf>, 240 in each
 */
export const stride = 32;
const marksInShelf = 240;
const shelfSize = stride * marksInShelf;
const idBytes = 16;

/** An entry that is appended longer than this after its id was made is late. */
export const lateMs = 30_000;
/** Entries are indexed at this age. A transaction of an entry that is not late is over by then. */
export const settledMs = 90_000;

const StoredIndex = z.object({
  /** How many entries are indexed: all of the day with ids up to `until`. */
  count: z.int(),
  until: z.string(),
  /** How many entries of the day were late when the index was begun. */
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

/** The id at a place of packed ids. */
const idIn = (packed: Uint8Array, place: number): string =>
  Buffer.from(packed.subarray(place * idBytes, (place + 1) * idBytes))
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** The place of the last packed id before `id`; -1 if none is. */
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

/** The index of a day, as far as it goes. */
export type DayIndex = {
  /** The number of entries of the day before a time. */
  rankAt: (atMs: number) => Promise<number>;
  /** How many entries before the one at a rank are read to find it. */
  distanceTo: (rank: number) => number;
  /** Reads `count` entries from a rank on, oldest first. */
  read: (rank: number, count: number) => Promise<Item[]>;
};

/** Reads the index of a day; undefined if it has none that agrees with its counters. */
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

/** The number of entries that are worth an extension of the index. */
const worthwhile = 2 * stride;
const step = 2_000;

/**
 * Extends the index of a day to the entries that are old enough at `now`, or makes it again if it does not agree with
 * the counters. Each step is stored, so an interrupted call loses one step.
 */
export async function extendIndex(table: Table, journal: Journal, day: WholeDay, now: Date): Promise<void> {
  const toMs = Math.min(now.getTime() - settledMs, day.startMs + dayMs);
  for (let isMore = toMs > day.startMs && day.count > worthwhile; isMore;) {
    isMore = await table.commit(async () => {
      const plan = await planStep(table, journal, day, toMs);
      return { writes: plan?.writes ?? [], value: plan?.isMore ?? false };
    });
  }
}

async function planStep(
  table: Reader,
  journal: Journal,
  day: WholeDay,
  toMs: number,
): Promise<{ writes: Write[]; isMore: boolean } | undefined> {
  const { startMs, late } = day;
  const found = await table.get(indexKey(journal, startMs), StoredIndex);
  const version = found?.version ?? 0;
  const isKept = found !== undefined && isExact(found, day);
  const { count, until, firsts } = isKept ? found : { count: 0, until: idAt(startMs), firsts: new Uint8Array() };
  const to = idAt(toMs);
  const ends = to === idAt(startMs + dayMs);
  if (until >= to || (isKept && !ends && day.count - count < worthwhile)) return undefined;
  const shelf = Math.floor(count / shelfSize);
  const limit = Math.min(step, shelfSize - (count % shelfSize));
  // After the id `until`, and before the ids of a time that begins there.
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
  const packed = Buffer.concat([marks?.marks ?? new Uint8Array(), bytesOf(marked)]);
  return {
    writes: [
      { put: { ...indexKey(journal, startMs), ...index, ttl }, if: version === 0 ? "absent" : { version } },
      ...(marked.length === 0 ? [] : [{ put: { ...shelfKey(journal, startMs, shelf), marks: packed, ttl } }]),
    ],
    isMore,
  };
}
