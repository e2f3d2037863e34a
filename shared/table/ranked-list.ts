import * as z from "zod";

import type { Order } from "../core/page.ts";
import { readAgain } from "./read-again.ts";
import type { Ahead } from "./read-ahead.ts";
import type { Range } from "./reads.ts";
import type { Reader } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/**
 * The positions of a list's rows. An ordinal is the number that a row got when it was added. A rank is the position of
 * the row among the rows that are left. Ordinals form blocks of 4,096.
 */
export type Ranks = {
  /** The ordinal of the next row. */
  next: number;
  /** The number of deleted ordinals of each block, in two bytes, the high byte first. */
  holes: Uint8Array;
  /** The deleted ordinals of a block; only for blocks that were read. */
  bitmaps: ReadonlyMap<number, Bitmap>;
};

/**
 * The deleted ordinals of a block, and the version of the list that stored the ordinals. Earlier versions of the
 * product stored no `version`.
 */
type Bitmap = { bits: Uint8Array; version?: number | undefined };
const Bitmap = z.object({ bits: z.instanceof(Uint8Array), version: z.int().optional() });

const blockSize = 4_096;

/** The block of an ordinal. */
export const blockOf = (ordinal: number): number => Math.floor(ordinal / blockSize);

/** How many ordinals of a block are deleted. */
export const holesIn = (holes: Uint8Array, block: number): number =>
  ((holes[block * 2] ?? 0) << 8) | (holes[block * 2 + 1] ?? 0);

/** How many bits of a bitmap are set. */
export function countBits(bits: Uint8Array = new Uint8Array()): number {
  let count = 0;
  // `byte & (byte - 1)` clears the lowest bit that is set.
  for (let byte of bits) for (; byte > 0; byte &= byte - 1) count += 1;
  return count;
}

/** The block of the row at a rank, and the number of live rows in the blocks before this block. */
function blockOfRank({ next, holes }: Omit<Ranks, "bitmaps">, rank: number): { block: number; before: number } {
  let before = 0;
  for (let block = 0; block * blockSize < next; block++) {
    const live = Math.min(blockSize, next - block * blockSize) - holesIn(holes, block);
    if (rank < before + live) return { block, before };
    before += live;
  }
  throw new RangeError(`The rank ${rank} is not in the ${before} rows.`);
}

/**
 * The ordinal of the live row at a rank (0 is the oldest). If the block of the row has holes, `ranks` must have its
 * bitmap. Throws a RangeError for a rank beyond the last row.
 */
export function ordinalAt(ranks: Ranks, rank: number): number {
  const { block, before } = blockOfRank(ranks, rank);
  const bits = ranks.bitmaps.get(block)?.bits ?? new Uint8Array();
  let left = rank - before;
  for (let byte = 0; ; byte++) {
    const deleted = bits[byte] ?? 0;
    const live = 8 - countBits(Uint8Array.of(deleted));
    if (live > left) return block * blockSize + byte * 8 + offsetIn(deleted, left);
    left -= live;
  }
}

/** The position of the zero bit at a rank in a byte. Positions and ranks count from 0, at the lowest bit. */
function offsetIn(deleted: number, rank: number): number {
  let left = rank;
  for (let offset = 0; ; offset++) {
    if (((deleted >> offset) & 1) === 1) continue;
    if (left === 0) return offset;
    left -= 1;
  }
}

/**
 * The holes of all blocks, and the bitmaps of the changed blocks, after the ordinals in `removed` were deleted and the
 * ordinals in `returned` came back.
 */
export function withHoles(
  ranks: Ranks,
  removed: readonly number[],
  returned: readonly number[] = [],
): { holes: Uint8Array; bitmaps: Map<number, Uint8Array> } {
  const blocks = [...new Set([...removed, ...returned].map(blockOf))];
  const holes = new Uint8Array(Math.max(ranks.holes.length, (Math.max(...blocks) + 1) * 2));
  holes.set(ranks.holes);
  const bitmaps = new Map<number, Uint8Array>();
  for (const block of blocks) {
    const bits = new Uint8Array(blockSize / 8);
    bits.set(ranks.bitmaps.get(block)?.bits ?? []);
    for (const [ordinals, isHole] of [[removed, true] as const, [returned, false] as const]) {
      for (const ordinal of ordinals.filter((candidate) => blockOf(candidate) === block)) {
        const [byte, bit] = [(ordinal % blockSize) >> 3, 1 << (ordinal & 7)];
        bits[byte] = isHole ? (bits[byte] ?? 0) | bit : (bits[byte] ?? 0) & ~bit;
      }
    }
    const count = countBits(bits);
    holes.set([count >> 8, count & 0xff], block * 2);
    bitmaps.set(block, bits);
  }
  return { holes, bitmaps };
}

/*
 * A list whose total is exact and whose pages all cost about the same. Rows have consecutive ordinals. An ordinal
 * belongs to one row for ever: a deleted row can come back, and no other row gets its ordinal. The head has the next
 * ordinal, and the number of deleted ordinals in each block of 4,096. A block with deletions has a bitmap of its
 * deleted ordinals. A read of a page reads the head and the bitmaps of the page's blocks, and makes one query between
 * two exact ordinals. A page is seldom in more than two blocks. A resource can store the head of its list within one of
 * its own items (`bodyWrites`).
 *
 * Access patterns (PK is the list's partition)
 *   head of a list       LIST#<name>#HEAD
 *   deletions in a block LIST#<name>#HOLES#<block>
 *   rows, by ordinal     LIST#<name>#ROW#<ordinal>
 */
export type List = { partition: string; name: string };

/**
 * A list as it was read, with the bitmaps of the blocks that were requested. `versioned` tells whether the code that
 * stored the head also stored versions in bitmaps, so that the versions of the head and a bitmap can be compared.
 */
export type ListState = Ranks & { list: List; live: number; version: number; versioned?: boolean | undefined };

const ordinalDigits = 10;
const lastOrdinal = 10 ** ordinalDigits - 1;

const Head = z.object({
  next: z.int(),
  live: z.int(),
  version: z.int(),
  holes: z.instanceof(Uint8Array).optional(),
  versioned: z.boolean().optional(),
});

const headKey = (list: List): Key => ({ PK: list.partition, SK: `LIST#${list.name}#HEAD` });
const bitmapKey = (list: List, block: number): Key => ({
  PK: list.partition,
  SK: `LIST#${list.name}#HOLES#${String(block).padStart(ordinalDigits, "0")}`,
});

/** The key of the row at an ordinal. */
export const rowKey = (list: List, ordinal: number): Key => ({
  PK: list.partition,
  SK: `LIST#${list.name}#ROW#${String(ordinal).padStart(ordinalDigits, "0")}`,
});

/** The range of all rows of a list, for a list that is short enough to be read as a whole. */
export const rangeOfRows = (list: List): Range => ({
  partition: list.partition,
  from: rowKey(list, 0).SK,
  to: rowKey(list, lastOrdinal).SK,
});

const parseBitmaps = (blocks: readonly number[], items: readonly (Item | undefined)[]): Map<number, Bitmap> =>
  new Map(blocks.flatMap((block, index) => (items[index] ? [[block, Bitmap.parse(items[index])] as const] : [])));

async function readBitmaps(table: Reader, list: List, blocks: readonly number[]): Promise<Map<number, Bitmap>> {
  return parseBitmaps(blocks, await table.getMany(blocks.map((block) => bitmapKey(list, block))));
}

async function readState(
  table: Reader,
  list: List,
  blocks: readonly number[],
  others: readonly Key[] = [],
): Promise<{ state: ListState; others: (Item | undefined)[] }> {
  const keys = [headKey(list), ...blocks.map((block) => bitmapKey(list, block)), ...others];
  const [head, ...rest] = await table.getMany(keys);
  return { state: listState(list, head, parseBitmaps(blocks, rest)), others: rest.slice(blocks.length) };
}

/**
 * Reads in one round trip the head, the bitmaps of the blocks of `ordinals`, and the items at `others`. The bitmaps are
 * needed to remove the rows at `ordinals` or to bring them back. A batch read is not a snapshot, so `readList` reads
 * again until the bitmaps fit the head. After 30 attempts throws 503 `busy`.
 */
export async function readList(
  table: Reader,
  list: List,
  ordinals: readonly number[] = [],
  others: readonly Key[] = [],
): Promise<{ state: ListState; others: (Item | undefined)[] }> {
  const blocks = [...new Set(ordinals.map(blockOf))];
  return readAgain(async () => {
    const read = await readState(table, list, blocks, others);
    return isTorn(read.state, blocks) ? undefined : read;
  });
}

/** Reads the state of a list with all its bitmaps. */
export function readWhole(table: Reader, list: List): Promise<ListState> {
  let blocks: readonly number[] = [];
  return readAgain(async () => {
    const { state } = await readState(table, list, blocks);
    const holed = Array.from({ length: state.holes.length / 2 }, (_, block) => block).filter(
      (block) => holesIn(state.holes, block) > 0,
    );
    if (holed.every((block) => blocks.includes(block)) && !isTorn(state, blocks)) return state;
    blocks = holed;
    return undefined;
  });
}

/** Whether the row at an ordinal is deleted. The bitmap of its block must have been read. */
export const isDeleted = ({ bitmaps }: Pick<ListState, "bitmaps">, ordinal: number): boolean =>
  (((bitmaps.get(blockOf(ordinal))?.bits[(ordinal % blockSize) >> 3] ?? 0) >> (ordinal & 7)) & 1) === 1;

/**
 * Whether the bitmap of a block does not fit the head, because the list changed between the two reads. A bitmap may be
 * newer than its head and still have as many deleted ordinals, so the versions are compared too.
 */
const isTorn = ({ holes, bitmaps, version, versioned = false }: ListState, blocks: readonly number[]): boolean =>
  blocks.some((block) => {
    const bitmap = bitmaps.get(block);
    const isNewer = versioned && (bitmap?.version ?? 0) > version;
    return isNewer || countBits(bitmap?.bits) !== holesIn(holes, block);
  });

/**
 * Reads the heads of several lists in one round trip, with the bitmaps of the blocks that `blocksOf` returns. The
 * result need not be a snapshot: a write that relies on a head checks the head's version, and `atOneMoment` compares
 * the heads.
 */
export async function readHeads(
  table: Reader,
  lists: readonly List[],
  blocksOf: (list: List) => readonly number[] = () => [],
): Promise<ListState[]> {
  const wanted = lists.map((list) => ({ list, blocks: blocksOf(list) }));
  const bitmaps = wanted.flatMap(({ list, blocks }) => blocks.map((block) => bitmapKey(list, block)));
  const items = await table.getMany([...lists.map(headKey), ...bitmaps]);
  let next = lists.length;
  return wanted.map(({ list, blocks }, index) => {
    const ofList = items.slice(next, next + blocks.length);
    next += blocks.length;
    return listState(list, items[index], parseBitmaps(blocks, ofList));
  });
}

function listState(list: List, item: Item | undefined, bitmaps: Ranks["bitmaps"]): ListState {
  if (!item) return { list, next: 0, live: 0, version: 0, holes: new Uint8Array(), bitmaps };
  const { holes = new Uint8Array(), ...head } = Head.parse(item);
  return { list, ...head, holes, bitmaps };
}

function headWrite(state: ListState, change: { next: number; live: number; holes: Uint8Array }): Write {
  const { list, version } = state;
  return {
    put: { ...headKey(list), ...change, version: version + 1, versioned: true },
    if: version === 0 ? "absent" : { version },
  };
}

/** The write that makes a transaction fail if the list has changed since its state was read. */
export const unchangedList = ({ list, version }: ListState): Write => ({
  check: headKey(list),
  if: version === 0 ? "absent" : { version },
});

type Rows = readonly Record<string, unknown>[];

/** The writes that add `rows` at the end, from the ordinal `state.next` on. All rows share one update of the head. */
export const appendRows = (state: ListState, rows: Rows): Write[] => changeRows(state, { added: rows });

/**
 * The writes that remove the rows at `ordinals`. The state must have the bitmaps of their blocks, as from `readList`
 * with these ordinals. The condition of each row is `row.if`, or that the row is present. If the condition fails, the
 * commit throws the error of `row.orElse`, or runs the plan again if there is no `row.orElse`.
 */
export const removeRows = (
  state: ListState,
  ordinals: readonly number[],
  row: Pick<Write, "if" | "orElse"> = {},
): Write[] => changeRows(state, { removed: ordinals, row });

type RowChanges = {
  added?: Rows;
  /** The ordinals of the rows to remove. */
  removed?: readonly number[];
  /** The condition of each row to remove: see `removeRows`. */
  row?: Pick<Write, "if" | "orElse">;
  /**
   * Deleted rows that come back, by their ordinals. The state must have the bitmaps of their blocks, as for `removed`.
   */
  returned?: ReadonlyMap<number, Record<string, unknown>>;
};

/** The writes that add rows, remove rows and bring rows back in one transaction, with one update of the head. */
export function changeRows(state: ListState, changes: RowChanges): Write[] {
  const { head, writes } = bodyWrites(state, changes);
  return [headWrite(state, head), ...writes];
}

/**
 * The writes of `changeRows` without the write of the head. Also returns the new head. The caller must store this head
 * in the same transaction, with the version `state.version + 1`.
 */
export function bodyWrites(
  state: ListState,
  { added = [], removed = [], row: condition = {}, returned = new Map() }: RowChanges,
): { head: Pick<ListState, "next" | "live" | "holes">; writes: Write[] } {
  const { list, next, live } = state;
  const { holes, bitmaps } = withHoles(state, removed, [...returned.keys()]);
  return {
    head: { next: next + added.length, live: live + added.length + returned.size - removed.length, holes },
    writes: [
      ...[...bitmaps].map(([block, bits]) => bitmapWrite(state, block, bits)),
      ...[...returned].map(([ordinal, row]): Write => ({ put: { ...row, ...rowKey(list, ordinal) }, if: "absent" })),
      ...added.map((row, index): Write => ({ put: { ...row, ...rowKey(list, next + index) }, if: "absent" })),
      ...removed.map((ordinal): Write => ({ delete: rowKey(list, ordinal), if: "present", ...condition })),
    ],
  };
}

/**
 * The write that replaces the bitmap of a block. The write fails if the bitmap has changed since it was read. Only a
 * bitmap that was read without a version is replaced without this condition.
 */
function bitmapWrite({ list, bitmaps, version }: ListState, block: number, bits: Uint8Array): Write {
  const before = bitmaps.get(block);
  const put = { ...bitmapKey(list, block), bits, version: version + 1 };
  if (!before) return { put, if: "absent" };
  return before.version === undefined ? { put } : { put, if: { version: before.version } };
}

/**
 * The write that deletes the head item of a list, when the head moves into another item. Empty if there is no head
 * item.
 */
export const headRemoval = ({ list, version }: ListState): Write[] =>
  version === 0 ? [] : [{ delete: headKey(list), if: { version } }];

/** Reads the state of a list whose head is in another item, with the bitmaps of the blocks of `ordinals`. */
export async function stateOf(
  table: Reader,
  list: List,
  head: Pick<ListState, "next" | "live" | "holes" | "version" | "versioned">,
  ordinals: readonly number[] = [],
): Promise<ListState> {
  return { list, ...head, bitmaps: await readBitmaps(table, list, [...new Set(ordinals.map(blockOf))]) };
}

/** The ordinal in the sort key of a row or a bitmap. */
export const ordinalIn = (sortKey: string): number => Number(sortKey.slice(-ordinalDigits));

/** Rebuilds the state of a list whose head is lost, from its rows and bitmaps. The state has no bitmaps. */
export async function rebuiltState(table: Reader, list: List, version: number): Promise<ListState> {
  const { partition } = list;
  const [items, [last]] = await Promise.all([
    table.between(partition, bitmapKey(list, 0).SK, bitmapKey(list, lastOrdinal).SK),
    table.between(partition, rowKey(list, 0).SK, rowKey(list, lastOrdinal).SK, { limit: 1, newestFirst: true }),
  ]);
  const deleted = items.flatMap((item) => {
    const { bits } = Bitmap.parse(item);
    const offsets = Array.from({ length: blockSize }, (_, offset) => offset);
    const holes = offsets.filter((offset) => (((bits[offset >> 3] ?? 0) >> (offset & 7)) & 1) === 1);
    return holes.map((offset) => ordinalIn(item.SK) * blockSize + offset);
  });
  // There may be more deleted ordinals than a function can have arguments.
  const next = deleted.reduce((most, ordinal) => Math.max(most, ordinal), last ? ordinalIn(last.SK) : -1) + 1;
  const empty = { next, holes: new Uint8Array(), bitmaps: new Map() };
  const { holes } = deleted.length === 0 ? empty : withHoles(empty, deleted);
  return { list, ...empty, holes, live: next - deleted.length, version };
}

/**
 * The greatest difference between neighbouring ordinals of one group (`groupsOf`). With greater gaps, reads by key cost
 * less.
 */
const mostGap = 4;
/** The most ranges that are read at the same time. */
const mostRanges = 10;

/**
 * Reads the rows of a list at `ordinals`. The result has no particular order. The result may also have rows between
 * these ordinals. Rows near each other are read by one query, which costs less than a read by key for each row.
 */
export async function readNear(table: Reader, list: List, ordinals: readonly number[]): Promise<Item[]> {
  const sorted = [...new Set(ordinals)].toSorted((a, b) => a - b);
  const { from: first, to: last } = endsOf(sorted);
  const isDense = last - first < sorted.length * (mostGap + 1);
  const wide = groupsOf(sorted).filter((group) => group.length > 2);
  // If there are too many ranges, and the gaps are small on average, one query reads all rows.
  const ranges = (wide.length > mostRanges && isDense ? [sorted] : wide.slice(0, mostRanges)).map(endsOf);
  const isInRange = (ordinal: number) => ranges.some(({ from, to }) => ordinal >= from && ordinal <= to);
  const keys = sorted.filter((ordinal) => !isInRange(ordinal)).map((ordinal) => rowKey(list, ordinal));
  const [single, ...near] = await Promise.all([
    keys.length === 0 ? [] : table.getMany(keys),
    ...ranges.map(({ from, to }) => table.between(list.partition, rowKey(list, from).SK, rowKey(list, to).SK)),
  ]);
  return [...single.flatMap((item) => item ?? []), ...near.flat()];
}

const endsOf = (group: readonly number[]) => ({ from: group[0] ?? 0, to: group.at(-1) ?? 0 });

/** Groups ordinals, so that neighbours within a group differ by `mostGap` at most. */
function groupsOf(sorted: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const ordinal of sorted) {
    const last = groups.at(-1);
    if (last && ordinal - (last.at(-1) ?? 0) <= mostGap) last.push(ordinal);
    else groups.push([ordinal]);
  }
  return groups;
}

/** Ranks `skip` to `skip + take − 1`, counted from the oldest row or, with `desc`, from the newest. */
type Span = { skip: number; take: number; order?: Order };

/**
 * Reads the rows of ranks `skip` to `skip + take − 1` and the exact total, from one state of the list. If the list
 * changes meanwhile, reads again. After 30 attempts throws 503 `busy`.
 */
export async function readRows(table: Reader, list: List, span: Span): Promise<{ rows: Item[]; total: number }> {
  let blocks: readonly number[] = [];
  return readAgain(async () => {
    const { state } = await readState(table, list, blocks);
    const read = await readSpan(table, state, span);
    if ("rows" in read) return { rows: read.rows, total: state.live };
    blocks = read.changed;
    return undefined;
  });
}

/**
 * Reads rows of a list whose head was read. If the list has changed since, returns the blocks whose bitmaps must be
 * read again together with the head.
 */
export async function readSpan(
  table: Reader,
  state: ListState,
  { skip, take, order = "asc" }: Span,
): Promise<{ rows: Item[] } | { changed: readonly number[] }> {
  const count = Math.max(0, Math.min(take, state.live - skip));
  if (count === 0) return { rows: [] };
  const first = order === "asc" ? skip : state.live - skip - count;
  const blocks = holedBlocks(state, first, first + count - 1);
  const missing = blocks.filter((block) => !state.bitmaps.has(block));
  const bitmaps = new Map([...state.bitmaps, ...(await readBitmaps(table, state.list, missing))]);
  const rows = await readRanks(table, { ...state, bitmaps }, first, first + count - 1);
  if (!rows) return { changed: blocks };
  return { rows: order === "asc" ? rows : rows.toReversed() };
}

/** The blocks whose bitmaps are needed to find the ordinals from one rank to another. */
function holedBlocks(state: ListState, first: number, last: number): number[] {
  const [from = 0, to = 0] = [first, last].map((rank) => blockOfRank(state, rank).block);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index).filter((block) => {
    const deleted = holesIn(state.holes, block);
    return deleted > 0 && deleted < blockSize;
  });
}

/**
 * Reads the rows from one rank to another, both included; undefined if the list has changed since its head was read.
 */
async function readRanks(table: Reader, state: ListState, first: number, last: number): Promise<Item[] | undefined> {
  if (isTorn(state, holedBlocks(state, first, last))) return undefined;
  const [from, to] = [first, last].map((rank) => rowKey(state.list, ordinalAt(state, rank)).SK);
  const rows = await table.between(state.list.partition, from ?? "", to ?? "");
  const isSame = rows.length === last - first + 1 && !rows.some(({ SK }) => isHole(state, ordinalIn(SK)));
  return isSame ? rows : undefined;
}

/** Whether the row at an ordinal was deleted when the head was read. */
const isHole = (state: ListState, ordinal: number): boolean =>
  holesIn(state.holes, blockOf(ordinal)) === blockSize || isDeleted(state, ordinal);

/** The items that `readList` reads: the head, the bitmaps of the blocks of `ordinals`, and the items at `others`. */
export const aheadOfList = (list: List, ordinals: readonly number[] = [], others: readonly Key[] = []): Ahead => ({
  keys: [headKey(list), ...[...new Set(ordinals.map(blockOf))].map((block) => bitmapKey(list, block)), ...others],
});

/** The heads that `readHeads` reads. */
export const aheadOfLists = (lists: readonly List[]): Ahead => ({ keys: lists.map(headKey) });

/**
 * The items and rows that `readRows` will probably read. The rows of a later page are a guess, which is right if no
 * earlier row was deleted. The later pages of a newest-first list cannot be guessed, because they depend on the total.
 */
export function aheadOfRows(list: List, { skip, take, order = "asc" }: Span): Ahead {
  const isFirst = skip === 0;
  const canGuess = isFirst || order === "asc";
  const [from, to] = isFirst ? [0, lastOrdinal] : [skip, skip + take - 1];
  const range = { partition: list.partition, from: rowKey(list, from).SK, to: rowKey(list, to).SK };
  const options = isFirst ? { limit: take, newestFirst: order === "desc" } : {};
  return { keys: [headKey(list)], ranges: canGuess && take > 0 ? [{ ...range, ...options }] : [] };
}
