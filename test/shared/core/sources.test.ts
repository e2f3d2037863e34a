import fc from "fast-check";
import { expect, test } from "vitest";

import { readConcatenated, totalOf, type RowSource } from "../../../shared/core/page.ts";

/**
 * Sources of `counts` rows, which are numbered across all sources. `gone` says how many rows of each source were
 * deleted after the count. `asked` has the sizes of the reads.
 */
function sourcesOf(counts: readonly number[], gone: readonly number[] = []) {
  const asked: number[] = [];
  let next = 0;
  const sources = counts.map((total, place): RowSource<number> => {
    const rows = Array.from({ length: total }, () => next++).slice(gone[place] ?? 0);
    return {
      total,
      read: async (skip, take) => {
        asked.push(take);
        return rows.slice(skip, skip + take);
      },
    };
  });
  return { sources, asked };
}

const counts = fc.array(fc.nat(5), { maxLength: 6 });

test("a part of several sources is the same part of one long source, and no other rows are read", async () => {
  await fc.assert(
    fc.asyncProperty(counts, fc.nat(30), fc.nat(30), async (sizes, skip, take) => {
      const { sources, asked } = sourcesOf(sizes);
      const all = Array.from({ length: totalOf(sources) }, (_, index) => index);
      expect(await readConcatenated(sources, skip, take)).toEqual(all.slice(skip, skip + take));
      expect(asked.reduce((sum, one) => sum + one, 0)).toBe(all.slice(skip, skip + take).length);
    }),
  );
});

test("if rows are deleted after the count, the part may have fewer rows, and has no row twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      counts,
      fc.array(fc.nat(3), { maxLength: 6 }),
      fc.nat(20),
      fc.nat(20),
      async (sizes, gone, skip, take) => {
        const { sources } = sourcesOf(sizes, gone);
        const found = await readConcatenated(sources, skip, take);
        expect(found.length).toBeLessThanOrEqual(take);
        expect(found).toEqual([...new Set(found)].toSorted((a, b) => a - b));
      },
    ),
  );
});

/** Sources of one row each. The read of a source fails if `fails` is true for its place. `running` counts the reads. */
function slowSources(count: number, fails: (place: number) => boolean = () => false) {
  const running = { now: 0, most: 0, started: 0 };
  const sources = Array.from({ length: count }, (_, place): RowSource<number> => ({
    total: 1,
    read: async () => {
      running.started += 1;
      running.most = Math.max(running.most, (running.now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running.now -= 1;
      if (fails(place)) throw new Error(`source ${place} failed`);
      return [place];
    },
  }));
  return { sources, running };
}

test("at most twenty sources are read at the same time, and their rows stay in order", async () => {
  const { sources, running } = slowSources(50);
  expect(await readConcatenated(sources, 0, 50)).toEqual(Array.from({ length: 50 }, (_, place) => place));
  expect(running.most).toBe(20);
});

test("if a source fails, no further source is read, and no read goes on", async () => {
  const { sources, running } = slowSources(50, (place) => place === 3);
  await expect(readConcatenated(sources, 0, 50)).rejects.toThrow("source 3 failed");
  expect(running.now).toBe(0);
  expect(running.started).toBeLessThan(50);
});
