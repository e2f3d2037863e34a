/**
 * The arithmetic of ranked lists: which ordinal has a rank, when some ordinals are deleted. `holes` holds,
 * two bytes a block of 4,096 ordinals, how many of them are; `bitmaps` says which, for the blocks at hand.
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
export function blockOfRank({ next, holes }: Omit<Ranks, "bitmaps">, rank: number): { block: number; before: number } {
  let before = 0;
  for (let block = 0; block * blockSize < next; block++) {
    const live = Math.min(blockSize, next - block * blockSize) - holesIn(holes, block);
    if (rank < before + live) return { block, before };
    before += live;
  }
  throw new RangeError(`There is no rank ${rank} in ${before} rows.`);
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

/** The counts, and the bitmaps of the touched blocks, once `ordinals` are deleted too. */
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
