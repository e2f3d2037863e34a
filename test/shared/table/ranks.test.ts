import fc from "fast-check";
import { expect, test } from "vitest";

import { blockOf, countBits, holesIn, ordinalAt, withHoles, type Ranks } from "../../../shared/table/ranked-list.ts";

const empty = (next: number): Ranks => ({ next, holes: new Uint8Array(), bitmaps: new Map() });

/** The ranks after deletions in batches, with every bitmap, like the items in the table. */
function afterDeleting(next: number, batches: number[][]): Ranks {
  let ranks = empty(next);
  for (const batch of batches.filter((ordinals) => ordinals.length > 0)) {
    const { holes, bitmaps } = withHoles(ranks, batch);
    const changed = [...bitmaps].map(([block, bits]) => [block, { bits }] as const);
    ranks = { next, holes, bitmaps: new Map([...ranks.bitmaps, ...changed]) };
  }
  return ranks;
}

const deletions = fc.integer({ min: 1, max: 20_000 }).chain((next) =>
  fc.record({
    next: fc.constant(next),
    batches: fc.array(fc.uniqueArray(fc.nat(next - 1), { maxLength: 400 }), { maxLength: 6 }),
  }),
);

test("the ordinal at every rank is the same as in a plain array without the deleted ordinals", () => {
  fc.assert(
    fc.property(deletions, ({ next, batches }) => {
      const deleted = new Set(batches.flat());
      const ranks = afterDeleting(next, batches);
      const live = Array.from({ length: next }, (_, ordinal) => ordinal).filter((ordinal) => !deleted.has(ordinal));
      const asked = [0, 1, live.length >> 1, live.length - 2, live.length - 1].filter((rank) => rank in live);
      expect(asked.map((rank) => ordinalAt(ranks, rank))).toEqual(asked.map((rank) => live[rank]));
    }),
    { numRuns: 200 },
  );
});

test("a block's count is the number of bits in its bitmap", () => {
  fc.assert(
    fc.property(deletions, ({ next, batches }) => {
      const { holes, bitmaps } = afterDeleting(next, batches);
      const deleted = new Set(batches.flat());
      for (const [block, { bits }] of bitmaps) {
        expect(countBits(bits)).toBe(holesIn(holes, block));
        expect(holesIn(holes, block)).toBe([...deleted].filter((ordinal) => blockOf(ordinal) === block).length);
      }
    }),
    { numRuns: 50 },
  );
});

test("after rows are restored, the counts and bitmaps are as if these rows had never been deleted", () => {
  fc.assert(
    fc.property(deletions, ({ next, batches }) => {
      const all = [...new Set(batches.flat())];
      const [back, gone] = [all.filter((_, index) => index % 2 === 0), all.filter((_, index) => index % 2 === 1)];
      const before = afterDeleting(next, batches);
      const { holes, bitmaps } = withHoles(before, [], back);
      const expected = afterDeleting(next, [gone]);
      for (const block of new Set(all.map(blockOf))) {
        expect(holesIn(holes, block)).toBe(holesIn(expected.holes, block));
        const bits = bitmaps.get(block) ?? before.bitmaps.get(block)?.bits;
        expect(Buffer.from(bits ?? []).equals(expected.bitmaps.get(block)?.bits ?? Buffer.alloc(512))).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

test("a block whose rows are all deleted is skipped", () => {
  const all = Array.from({ length: 4_096 }, (_, offset) => 4_096 + offset);
  const ranks = afterDeleting(10_000, [all]);
  expect(holesIn(ranks.holes, 1)).toBe(4_096);
  expect([4_095, 4_096].map((rank) => ordinalAt(ranks, rank))).toEqual([4_095, 8_192]);
});

test("a rank past the end is an error, not a row", () => {
  expect(() => ordinalAt(empty(3), 3)).toThrow(RangeError);
});
