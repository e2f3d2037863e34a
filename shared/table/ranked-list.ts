import * as z from "zod";

import { readAgain } from "./read-again.ts";
import type { Ahead } from "./read-ahead.ts";
import type { Reader } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/**
 * The arithmetic of ranked lists: it finds the ordinal at a rank, although some ordinals are deleted. `holes` counts
 * the deleted ordinals, in two bytes for each block of 4,096; `bitmaps` says which they are, for the blocks that were
 * read.
 */
export type Ranks = {
  /** The ordinal the next row gets. */
  next: number;
  holes: Uint8Array;
  bitmaps: ReadonlyMap<number, Uint8Array>;
};

const blockSize = 4_096;

/** The block an ordinal belongs to. */
export const blockOf = (ordinal: number): number => Math.floor(ordinal / blockSize);

/** How many ordinals of a block are deleted. */
export const holesIn = (holes: Uint8Array, block: number): number =>
  ((holes[block * 2] ?? 0) << 8) | (holes[block * 2 + 1] ?? 0);

/** How many bits of a bitmap are set. */
export function countBits(bits: Uint8Array = new Uint8Array()): number {
  let count = 0;
  for (let byte of bits) for (; byte > 0; byte &= byte - 1) count += 1;
  return count;
}

/** The block that holds a rank, and how many live rows stand in the blocks before it. */
function blockOfRank({ next, holes }: Omit<Ranks, "bitmaps">, rank: number): { block: number; before: number } {
  let before = 0;
  for (let block = 0; block * blockSize < next; block++) {
    const live = Math.min(blockSize, next - block * blockSize) - holesIn(holes, block);
    if (rank < before + live) return { block, before };
    before += live;
  }
  throw new RangeError(`The rank ${rank} is not in the ${before} rows.`);
}

/** The ordinal of the live row with this rank (0 is the oldest); needs the bitmap of its block if that has holes. */
export function ordinalAt(ranks: Ranks, rank: number): number {
  const { block, before } = blockOfRank(ranks, rank);
  const bits = ranks.bitmaps.get(block) ?? new Uint8Array();
  let left = rank - before;
  for (let byte = 0; ; byte++) {
    const deleted = bits[byte] ?? 0;
    const live = 8 - countBits(Uint8Array.of(deleted));
    if (live > left) return block * blockSize + byte * 8 + offsetIn(deleted, left);
    left -= live;
  }
}

/** The position of the `rank`-th zero bit of a byte. */
function offsetIn(deleted: number, rank: number): number {
  let left = rank;
  for (let offset = 0; ; offset++) {
    if (((deleted >> offset) & 1) === 1) continue;
    if (left === 0) return offset;
    left -= 1;
  }
}

/** The counts, and the bitmaps of the changed blocks, after the deletion of `ordinals`. */
export function withHoles(ranks: Ranks, ordinals: readonly number[]): Pick<Ranks, "holes" | "bitmaps"> {
  const blocks = [...new Set(ordinals.map(blockOf))];
  const holes = new Uint8Array(Math.max(ranks.holes.length, (Math.max(...blocks) + 1) * 2));
  holes.set(ranks.holes);
  const bitmaps = new Map<number, Uint8Array>();
  for (const block of blocks) {
    const bits = new Uint8Array(blockSize / 8);
    bits.set(ranks.bitmaps.get(block) ?? []);
    for (const ordinal of ordinals.filter((candidate) => blockOf(candidate) === block)) {
      const byte = (ordinal % blockSize) >> 3;
      bits[byte] = (bits[byte] ?? 0) | (1 << (ordinal & 7));
    }
    const count = countBits(bits);
    holes.set([count >> 8, count & 0xff], block * 2);
    bitmaps.set(block, bits);
  }
  return { holes, bitmaps };
}

/*
 * A list whose every page costs the same and whose total is exact. Rows sit at dense ordinals that are
 * never reused; the head knows how many ordinals were given out and how many are deleted in each block
 * of 4,096; a block with deletions has a bitmap of them. A page is the head, at most two bitmaps and
 * one query between two exact ordinals. The owner of a list can keep the head in an item of its own (`bodyWrites`).
 *
 * Access patterns (PK is the list's partition)
 *   head of a list       LIST#<name>#HEAD
 *   deletions in a block LIST#<name>#HOLES#<block>
 *   rows, by ordinal     LIST#<name>#ROW#<ordinal>
 */
export type List = { partition: string; name: string };

/** A list as it was read, with the bitmaps of the blocks that were requested. */
export type ListState = Ranks & { list: List; live: number; version: number };

const ordinalDigits = 10;
const lastOrdinal = 10 ** ordinalDigits - 1;

const Head = z.object({ next: z.int(), live: z.int(), version: z.int(), holes: z.instanceof(Uint8Array).optional() });
const Bitmap = z.object({ bits: z.instanceof(Uint8Array) });

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

const parseBitmaps = (blocks: readonly number[], items: readonly (Item | undefined)[]): Map<number, Uint8Array> =>
  new Map(blocks.flatMap((block, index) => (items[index] ? [[block, Bitmap.parse(items[index]).bits] as const] : [])));

async function readBitmaps(table: Reader, list: List, blocks: readonly number[]): Promise<Map<number, Uint8Array>> {
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
 * Reads the head in one round trip with the bitmaps of the blocks that hold `ordinals` (needed to remove them), and
 * with any other items. A batch read is not a snapshot, so it reads again while the head contains a removal that its
 * bitmap does not.
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

/** Whether the row at an ordinal is deleted, by a bitmap that was read. */
export const isDeleted = ({ bitmaps }: Pick<ListState, "bitmaps">, ordinal: number): boolean =>
  (((bitmaps.get(blockOf(ordinal))?.[(ordinal % blockSize) >> 3] ?? 0) >> (ordinal & 7)) & 1) === 1;

/** Whether a block's bitmap does not fit the head, because the two are of different moments. */
const isTorn = ({ holes, bitmaps }: ListState, blocks: readonly number[]): boolean =>
  blocks.some((block) => countBits(bitmaps.get(block)) !== holesIn(holes, block));

/**
 * Reads the heads of several lists in one round trip, with the bitmaps of the blocks in `blocksOf`. They need not be a
 * snapshot: a write that relies on a head checks its version, and `atOneMoment` compares the heads.
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
  return wanted.map(({ list, blocks }, index) =>
    listState(list, items[index], parseBitmaps(blocks, items.slice(next, (next += blocks.length)))),
  );
}

function listState(list: List, item: Item | undefined, bitmaps: ReadonlyMap<number, Uint8Array>): ListState {
  if (!item) return { list, next: 0, live: 0, version: 0, holes: new Uint8Array(), bitmaps };
  const { holes = new Uint8Array(), ...head } = Head.parse(item);
  return { list, ...head, holes, bitmaps };
}

function headWrite(state: ListState, change: { next: number; live: number; holes: Uint8Array }): Write {
  const { list, version } = state;
  return {
    put: { ...headKey(list), ...change, version: version + 1 },
    if: version === 0 ? "absent" : { version },
  };
}

/** The write that fails a transaction when the list changed since it was read. */
export const unchangedList = ({ list, version }: ListState): Write => ({
  check: headKey(list),
  if: version === 0 ? "absent" : { version },
});

type Rows = readonly Record<string, unknown>[];

/** The writes that add `rows` at the end, the first one at ordinal `state.next`. One head update for all. */
export const appendRows = (state: ListState, rows: Rows): Write[] => changeRows(state, { added: rows });

/**
 * The writes that remove the rows at `ordinals`. The state must be from `readList` with these ordinals. A row that is
 * gone meanwhile, or that fails the condition `row.if`, throws the error of `row.orElse`.
 */
export const removeRows = (
  state: ListState,
  ordinals: readonly number[],
  row: Pick<Write, "if" | "orElse"> = {},
): Write[] => changeRows(state, { removed: ordinals, row });

type RowChanges = { added?: Rows; removed?: readonly number[]; row?: Pick<Write, "if" | "orElse"> };

/** The writes of `appendRows` and `removeRows` in one transaction, with one head update. */
export function changeRows(state: ListState, changes: RowChanges): Write[] {
  const { head, writes } = bodyWrites(state, changes);
  return [headWrite(state, head), ...writes];
}

/** The writes of `changeRows` without the head's, and the head that must be stored with them. */
export function bodyWrites(
  state: ListState,
  { added = [], removed = [], row = {} }: RowChanges,
): { head: Pick<ListState, "next" | "live" | "holes">; writes: Write[] } {
  const { list, next, live } = state;
  const { holes, bitmaps } = withHoles(state, removed);
  return {
    head: { next: next + added.length, live: live + added.length - removed.length, holes },
    writes: [
      ...[...bitmaps].map(([block, bits]): Write => ({ put: { ...bitmapKey(list, block), bits } })),
      ...added.map((one, index): Write => ({ put: { ...one, ...rowKey(list, next + index) }, if: "absent" })),
      ...removed.map((ordinal): Write => ({ delete: rowKey(list, ordinal), if: "present", ...row })),
    ],
  };
}

/** The write that deletes the head item of a list whose head moves into another item. */
export const noHead = ({ list, version }: ListState): Write[] =>
  version === 0 ? [] : [{ delete: headKey(list), if: { version } }];

/** The state of a list whose head is in another item, with the bitmaps of the blocks that hold `ordinals`. */
export async function stateOf(
  table: Reader,
  list: List,
  head: Pick<ListState, "next" | "live" | "holes" | "version">,
  ordinals: readonly number[] = [],
): Promise<ListState> {
  return { list, ...head, bitmaps: await readBitmaps(table, list, [...new Set(ordinals.map(blockOf))]) };
}

const ordinalIn = (sortKey: string): number => Number(sortKey.slice(-ordinalDigits));

/** The state of a list that has lost its head, from its rows and bitmaps, without the bitmaps. */
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
  const next = Math.max(last ? ordinalIn(last.SK) : -1, ...deleted) + 1;
  const empty = { next, holes: new Uint8Array(), bitmaps: new Map() };
  const { holes } = deleted.length === 0 ? empty : withHoles(empty, deleted);
  return { list, ...empty, holes, live: next - deleted.length, version };
}

/** The most unwanted rows that a query reads between two wanted ones. Beyond that, a read by key costs less. */
const mostGap = 4;
/** The most ranges that are read at the same time. */
const mostRanges = 10;

/**
 * Reads the rows of a list at ordinals, in any order; it may return other rows too. Rows near each other are read by one
 * query, which costs less than each of them by its key.
 */
export async function readNear(table: Reader, list: List, ordinals: readonly number[]): Promise<Item[]> {
  const sorted = [...new Set(ordinals)].toSorted((a, b) => a - b);
  const groups = groupsOf(sorted);
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  const isDense = last - first < sorted.length * (mostGap + 1);
  const wide = groups.filter((group) => group.length > 2);
  const ranges = wide.length > mostRanges && isDense ? [[first, last]] : wide.slice(0, mostRanges);
  const isInRange = (ordinal: number) =>
    ranges.some(([from = 0, ...rest]) => ordinal >= from && ordinal <= (rest.at(-1) ?? from));
  const keys = sorted.filter((ordinal) => !isInRange(ordinal)).map((ordinal) => rowKey(list, ordinal));
  const [single, ...near] = await Promise.all([
    keys.length === 0 ? [] : table.getMany(keys),
    ...ranges.map(([from = 0, ...rest]) =>
      table.between(list.partition, rowKey(list, from).SK, rowKey(list, rest.at(-1) ?? from).SK),
    ),
  ]);
  return [...single.flatMap((item) => item ?? []), ...near.flat()];
}

/** Groups of ordinals with small gaps between them. */
function groupsOf(sorted: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const ordinal of sorted) {
    const last = groups.at(-1);
    if (last && ordinal - (last.at(-1) ?? 0) <= mostGap) last.push(ordinal);
    else groups.push([ordinal]);
  }
  return groups;
}

type Order = "oldest" | "newest";

/** Ranks `skip` to `skip + take − 1`, counted from the oldest or the newest row. */
type Span = { skip: number; take: number; order?: Order };

/**
 * Reads the rows of ranks `skip` to `skip + take − 1` and the exact total, from the same state of the list. The rows
 * are checked against the head, and read again if the list changed meanwhile.
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
 * Reads rows of a list whose head was read. If the list changed since, it returns the blocks to read again with the
 * head.
 */
export async function readSpan(
  table: Reader,
  state: ListState,
  { skip, take, order = "oldest" }: Span,
): Promise<{ rows: Item[] } | { changed: readonly number[] }> {
  const count = Math.max(0, Math.min(take, state.live - skip));
  if (count === 0) return { rows: [] };
  const first = order === "oldest" ? skip : state.live - skip - count;
  const blocks = holedBlocks(state, first, first + count - 1);
  const missing = blocks.filter((block) => !state.bitmaps.has(block));
  const bitmaps = new Map([...state.bitmaps, ...(await readBitmaps(table, state.list, missing))]);
  const rows = await readRanks(table, { ...state, bitmaps }, first, first + count - 1);
  if (!rows) return { changed: blocks };
  return { rows: order === "oldest" ? rows : rows.toReversed() };
}

/** The blocks whose bitmaps are needed to find two ranks. */
function holedBlocks(state: ListState, first: number, last: number): number[] {
  const blocks = [...new Set([first, last].map((rank) => blockOfRank(state, rank).block))];
  return blocks.filter((block) => holesIn(state.holes, block) > 0);
}

/** The rows from one rank to another, both included; undefined if the list changed since its head was read. */
async function readRanks(table: Reader, state: ListState, first: number, last: number): Promise<Item[] | undefined> {
  if (isTorn(state, holedBlocks(state, first, last))) return undefined;
  const [from, to] = [first, last].map((rank) => rowKey(state.list, ordinalAt(state, rank)).SK);
  const rows = await table.between(state.list.partition, from ?? "", to ?? "");
  return rows.length === last - first + 1 ? rows : undefined;
}

/** The items that `readList` reads. */
export const aheadOfList = (list: List, ordinals: readonly number[] = [], others: readonly Key[] = []): Ahead => ({
  keys: [headKey(list), ...[...new Set(ordinals.map(blockOf))].map((block) => bitmapKey(list, block)), ...others],
});

/** The items that `readHeads` reads. */
export const aheadOfLists = (lists: readonly List[]): Ahead => ({ keys: lists.map(headKey) });

/**
 * The items and rows that `readRows` reads if no row before them was deleted. The first page is right also after
 * deletions. Of a newest-first list only the first page is known.
 */
export function aheadOfRows(list: List, { skip, take, order = "oldest" }: Span): Ahead {
  const isFirst = skip === 0;
  const known = isFirst || order === "oldest";
  const [from, to] = isFirst ? [0, lastOrdinal] : [skip, skip + take - 1];
  const range = { partition: list.partition, from: rowKey(list, from).SK, to: rowKey(list, to).SK };
  const options = isFirst ? { limit: take, newestFirst: order === "newest" } : {};
  return { keys: [headKey(list)], ranges: known && take > 0 ? [{ ...range, ...options }] : [] };
}
