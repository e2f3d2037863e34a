import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";

import { readAhead } from "../../../shared/table/read-ahead.ts";
import { SeenItems } from "../../../shared/table/seen-items.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item, Key } from "../../../shared/table/writes.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const PK = "p";
const key = (n: number): Key => ({ PK, SK: `ITEM#${String(n).padStart(2, "0")}` });
const Stored = z.object({ n: z.int() });

/** A table with the items `numbers`, and the reads that it was asked for. */
async function scene(numbers: readonly number[]) {
  const plain = openMemoryTable(createMemoryStore());
  const writes = numbers.map((n) => ({ put: { ...key(n), n } }));
  if (writes.length > 0) await plain.commit(async () => ({ value: undefined, writes }));
  const asked: string[] = [];
  const table: Table = {
    ...plain,
    getMany: (keys) => {
      asked.push(keys.map(({ SK }) => SK).join(" "));
      return plain.getMany(keys);
    },
    between: (...range) => {
      asked.push(`${range[1]} to ${range[2]}`);
      return plain.between(...range);
    },
  };
  return { plain, table, asked };
}

const rangeOf = (from: number, to: number) => ({ partition: PK, from: key(from).SK, to: key(to).SK });
const numbersOf = (items: readonly (Item | undefined)[]) => items.map((item) => item?.["n"]);

test("items and ranges are read at once, and the first read of each gets them", async () => {
  const { table, asked } = await scene([1, 2, 3]);
  const ahead = readAhead(table, { keys: [key(1), key(9)], ranges: [rangeOf(2, 5)] });
  expect(asked).toEqual(["ITEM#01", "ITEM#09", "ITEM#02 to ITEM#05"]);
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 1 });
  expect(numbersOf(await ahead.getMany([key(9), key(2)]))).toEqual([undefined, 2]);
  expect(numbersOf(await ahead.between(PK, key(3).SK, key(4).SK))).toEqual([3]);
  expect(asked.slice(3)).toEqual(["ITEM#02"]);
});

test("a second read, and every read after a write, sees the current state", async () => {
  const { plain, table } = await scene([1, 2]);
  const change = (n: number, to: number) => plain.attempt({ update: key(n), set: { n: to } });
  const ahead = readAhead(table, { keys: [key(1), key(2)], ranges: [rangeOf(1, 2)] });
  await ahead.get(key(1), Stored);
  await change(1, 10);
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 10 });
  await change(2, 20);
  await ahead.attempt({ put: { ...key(3), n: 3 } });
  expect(await ahead.get(key(2), Stored)).toEqual({ n: 20 });
  expect(numbersOf(await ahead.between(PK, key(1).SK, key(2).SK))).toEqual([10, 20]);
});

test("a glimpse also takes an item that was read ahead, and notes it as seen", async () => {
  const { table, asked } = await scene([1, 2]);
  const seen = new SeenItems();
  const ahead = readAhead({ ...table, seen }, { keys: [key(1)] });
  expect([await ahead.glimpse(key(1), Stored), await ahead.glimpse(key(2), Stored)]).toEqual([{ n: 1 }, { n: 2 }]);
  expect([seen.recall(key(1))?.["n"], asked]).toEqual([1, ["ITEM#01"]]);
});

test("a key that is listed twice is read ahead for two reads", async () => {
  const { plain, table } = await scene([1]);
  const ahead = readAhead(table, { keys: [key(1), key(1)] });
  await plain.attempt({ update: key(1), set: { n: 10 } });
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 1 });
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 1 });
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 10 });
});

test("with `again`, an item that was read ahead serves one more read, until the first write", async () => {
  const { plain, table } = await scene([1, 2]);
  const ahead = readAhead(table, { again: true });
  for (const n of [1, 2]) await ahead.get(key(n), Stored);
  for (const n of [1, 2]) await plain.attempt({ update: key(n), set: { n: n * 10 } });
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 1 });
  expect(await ahead.get(key(1), Stored)).toEqual({ n: 10 });
  await ahead.attempt({ put: { ...key(3), n: 3 } });
  expect(await ahead.get(key(2), Stored)).toEqual({ n: 20 });
});

test("a plan that runs again reads again", async () => {
  const { plain, table } = await scene([1]);
  const ahead = readAhead(table, { keys: [key(1)] });
  const read: unknown[] = [];
  await plain.attempt({ update: key(1), set: { n: 2 } });
  await ahead.commit(async () => {
    const found = await ahead.get(key(1), Stored);
    read.push(found?.n);
    return { value: undefined, writes: [{ update: key(1), set: { n: 3 }, if: { n: found?.n ?? 0 } }] };
  });
  expect(read).toEqual([1, 2]);
  expect(await plain.get(key(1), Stored)).toEqual({ n: 3 });
});

test("of a long range only the first rows are read ahead, and a read of the whole range gets all rows", async () => {
  const { plain, table, asked } = await scene([]);
  for (let n = 100; n < 350; n++) await plain.attempt({ put: { ...key(n), n } });
  const all = rangeOf(100, 999);
  const ahead = readAhead(table, { ranges: [all, all] });
  const first = await ahead.between(PK, all.from, all.to, { limit: 200 });
  expect([numbersOf(first).at(-1), asked.length]).toEqual([299, 2]);
  expect((await ahead.between(PK, all.from, all.to)).length).toBe(250);
  expect(asked.length).toBe(3);
});

test("a failed read ahead throws in the read that needs it, and does no harm otherwise", async () => {
  const { table } = await scene([1]);
  const away = { ...table, getMany: () => Promise.reject(new Error("away")), between: async () => [] };
  const ahead = readAhead(away, { keys: [key(1), key(2)] });
  await expect(ahead.get(key(1), Stored)).rejects.toThrow("away");
});

test("whatever ranges are read ahead, every range has the items of the table", async () => {
  const place = fc.integer({ min: 0, max: 12 });
  const range = fc.tuple(place, place).map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
  const options = fc.record({ limit: fc.integer({ min: 1, max: 6 }), newestFirst: fc.boolean() }, { requiredKeys: [] });
  const property = fc.asyncProperty(
    fc.uniqueArray(place),
    fc.array(fc.tuple(range, options), { maxLength: 3 }),
    fc.array(fc.tuple(range, fc.option(options, { nil: undefined })), { maxLength: 4 }),
    async (numbers, early, later) => {
      const { plain, table } = await scene(numbers);
      const ahead = readAhead(table, {
        ranges: early.map(([[from, to], how]) => ({ ...rangeOf(from, to), ...how })),
      });
      for (const [[from, to], how] of later) {
        const asked = [PK, key(from).SK, key(to).SK, how] as const;
        expect(await ahead.between(...asked)).toEqual(await plain.between(...asked));
      }
    },
  );
  await fc.assert(property, { numRuns: 1_500 });
});
