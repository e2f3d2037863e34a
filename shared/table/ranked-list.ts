import * as z from "zod";
import { Problem } from "../errors.ts";
import type { Table } from "./table.ts";
import type { Item, Key, Write } from "./writes.ts";

/*
 * A list whose every page costs the same and whose total is exact. Rows sit at dense ordinals that are
 * never reused; the head knows how many ordinals were given out and how many are deleted in each block
 * of 4,096; a block with deletions has a bitmap of them. A page is the head, at most two bitmaps and
 * one query between two exact ordinals.
 *
 * Access patterns (PK is the list's partition)
 *   head of a list       LIST#<name>#HEAD
 *   deletions in a block LIST#<name>#HOLES#<block>
 *   rows, by ordinal     LIST#<name>#ROW#<ordinal>
 */
export type List = { partition: string; name: string };

/** A list as it was read, with the bitmaps of the blocks that were asked for. */
export type ListState = {
  list: List;
  /** The ordinal the next row gets. */
  next: number;
  live: number;
  version: number;
  holes: Uint8Array;
  bitmaps: ReadonlyMap<number, Uint8Array>;
};

const blockSize = 4_096;
const ordinalDigits = 10;
const blockOf = (ordinal: number): number => Math.floor(ordinal / blockSize);

const Head = z.object({ next: z.int(), live: z.int(), version: z.int(), holes: z.instanceof(Uint8Array).optional() });
const Bitmap = z.object({ bits: z.instanceof(Uint8Array) });

const headKey = (list: List): Key => ({ PK: list.partition, SK: `LIST#${list.name}#HEAD` });
const bitmapKey = (list: List, block: number): Key => ({
  PK: list.partition,
  SK: `LIST#${list.name}#HOLES#${String(block).padStart(ordinalDigits, "0")}`,
});

/** Where the row at an ordinal is. */
export const rowKey = (list: List, ordinal: number): Key => ({
  PK: list.partition,
  SK: `LIST#${list.name}#ROW#${String(ordinal).padStart(ordinalDigits, "0")}`,
});

/** How many of a block's ordinals are deleted: two bytes a block in the head. */
const holesIn = (holes: Uint8Array, block: number): number =>
  ((holes[block * 2] ?? 0) << 8) | (holes[block * 2 + 1] ?? 0);

const isHole = (bits: Uint8Array | undefined, offset: number): boolean =>
  (((bits?.[offset >> 3] ?? 0) >> (offset & 7)) & 1) === 1;

const countBits = (bits: Uint8Array): number => {
  let count = 0;
  for (let byte of bits) for (; byte > 0; byte &= byte - 1) count += 1;
  return count;
};

async function readBitmaps(table: Table, list: List, blocks: readonly number[]): Promise<Map<number, Uint8Array>> {
  const items = blocks.length === 0 ? [] : await table.getMany(blocks.map((block) => bitmapKey(list, block)));
  return new Map(
    blocks.flatMap((block, index) => (items[index] ? [[block, Bitmap.parse(items[index]).bits] as const] : [])),
  );
}

/**
 * The head, in one round trip with the bitmaps of the blocks that hold `ordinals` (needed to remove
 * them) and whatever else the caller wants to read at the same moment.
 */
export async function readList(
  table: Table,
  list: List,
  ordinals: readonly number[] = [],
  others: readonly Key[] = [],
): Promise<{ state: ListState; others: (Item | undefined)[] }> {
  const blocks = [...new Set(ordinals.map(blockOf))];
  const keys = [headKey(list), ...blocks.map((block) => bitmapKey(list, block)), ...others];
  const [headItem, ...rest] = await table.getMany(keys);
  const bitmaps = new Map(
    blocks.flatMap((block, index) => (rest[index] ? [[block, Bitmap.parse(rest[index]).bits] as const] : [])),
  );
  return { state: stateOf(list, headItem, bitmaps), others: rest.slice(blocks.length) };
}

function stateOf(list: List, item: Item | undefined, bitmaps: ReadonlyMap<number, Uint8Array>): ListState {
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

/** The writes that add `rows` at the end, the first one at ordinal `state.next`. One head update for all. */
export function appendRows(state: ListState, rows: readonly Record<string, unknown>[]): Write[] {
  const { list, next, live, holes } = state;
  return [
    headWrite(state, { next: next + rows.length, live: live + rows.length, holes }),
    ...rows.map((row, index): Write => ({ put: { ...row, ...rowKey(list, next + index) }, if: "absent" })),
  ];
}

/**
 * The writes that remove the rows at `ordinals`, whose blocks `readList` must have been asked for.
 * A row that is gone meanwhile, or that fails `rowCondition`, throws what `orElse` makes.
 */
export function removeRows(
  state: ListState,
  ordinals: readonly number[],
  row: Pick<Write, "if" | "orElse"> = {},
): Write[] {
  const { list, next, live } = state;
  const blocks = [...new Set(ordinals.map(blockOf))];
  const holes = new Uint8Array(Math.max(state.holes.length, (Math.max(...blocks) + 1) * 2));
  holes.set(state.holes);
  const bitmaps = blocks.map((block): Write => {
    const old = state.bitmaps.get(block);
    const bits = new Uint8Array(blockSize / 8);
    if (old) bits.set(old);
    for (const ordinal of ordinals) if (blockOf(ordinal) === block) bits[(ordinal % blockSize) >> 3]! |= 1 << (ordinal & 7);
    const count = countBits(bits);
    holes.set([count >> 8, count & 0xff], block * 2);
    return { put: { ...bitmapKey(list, block), bits } };
  });
  return [
    headWrite(state, { next, live: live - ordinals.length, holes }),
    ...bitmaps,
    ...ordinals.map((ordinal): Write => ({ delete: rowKey(list, ordinal), if: "present", ...row })),
  ];
}

/** The ordinal of the live row with this rank (0 is the oldest); its block's bitmap must be in `bitmaps`. */
function select(state: ListState, rank: number, bitmaps: ReadonlyMap<number, Uint8Array>): number {
  const { block, before } = blockOfRank(state, rank);
  const bits = bitmaps.get(block);
  let left = rank - before;
  let offset = 0;
  if (!bits) return block * blockSize + left;
  for (;;) {
    const byte = bits[offset >> 3] ?? 0;
    const liveInByte = 8 - countBits(Uint8Array.of(byte));
    if ((offset & 7) === 0 && liveInByte <= left) {
      left -= liveInByte;
      offset += 8;
      continue;
    }
    if (!isHole(bits, offset)) {
      if (left === 0) return block * blockSize + offset;
      left -= 1;
    }
    offset += 1;
  }
}

/** The block that holds a rank, and how many live rows stand in the blocks before it. */
function blockOfRank(state: ListState, rank: number): { block: number; before: number } {
  let before = 0;
  for (let block = 0; ; block++) {
    const given = Math.min(blockSize, state.next - block * blockSize);
    const live = given - holesIn(state.holes, block);
    if (rank < before + live) return { block, before };
    before += live;
  }
}

export type Order = "oldest" | "newest";

/** The rows of ranks `skip` to `skip + take − 1` and the exact total, as of one moment. */
export async function readRows(
  table: Table,
  list: List,
  { skip, take, order = "oldest" }: { skip: number; take: number; order?: Order },
): Promise<{ rows: Item[]; total: number }> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const { state } = await readList(table, list);
    const count = Math.max(0, Math.min(take, state.live - skip));
    if (count === 0) return { rows: [], total: state.live };
    const first = order === "oldest" ? skip : state.live - skip - count;
    const edges = [first, first + count - 1];
    const blocks = [...new Set(edges.map((rank) => blockOfRank(state, rank).block))];
    const holed = blocks.filter((block) => holesIn(state.holes, block) > 0);
    const bitmaps = await readBitmaps(table, list, holed);
    if (holed.some((block) => countBits(bitmaps.get(block) ?? new Uint8Array()) !== holesIn(state.holes, block))) continue;
    const [from, to] = edges.map((rank) => rowKey(list, select(state, rank, bitmaps)).SK);
    const rows = await table.between(list.partition, from!, to!);
    if (rows.length !== count) continue;
    return { rows: order === "oldest" ? rows : rows.toReversed(), total: state.live };
  }
  throw new Problem("busy", "The list is changing too fast to read a page of it. Try again.", { retry_after: 1 });
}
