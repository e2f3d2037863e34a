import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { notFound } from "../../../shared/core/errors.ts";
import {
  appendRows,
  changeRows,
  readList,
  readRows,
  rebuiltState,
  removeRows,
  rowKey,
  unchangedList,
  type List,
} from "../../../shared/table/ranked-list.ts";
import type { Key } from "../../../shared/table/writes.ts";
import { withStep } from "../../support/between-calls.ts";
import { inTornBatch } from "../../support/between.ts";
import { testTable } from "../../support/world.ts";

const table = testTable();
const newList = (): List => ({ partition: `TEST#${randomUUID()}`, name: "rows" });

const add = (list: List, values: readonly number[]): Promise<number> =>
  table.commit(async () => {
    const { state } = await readList(table, list);
    return {
      value: state.next,
      writes: appendRows(
        state,
        values.map((value) => ({ value })),
      ),
    };
  });

const remove = (list: List, ordinals: readonly number[]): Promise<void> =>
  table.commit(async () => {
    const { state } = await readList(table, list, ordinals);
    return { value: undefined, writes: removeRows(state, ordinals, { orElse: notFound }) };
  });

const restore = (list: List, rows: readonly Row[]): Promise<void> =>
  table.commit(async () => {
    const ordinals = rows.map(({ ordinal }) => ordinal);
    const { state } = await readList(table, list, ordinals);
    const returned = new Map(rows.map(({ ordinal, value }) => [ordinal, { value }]));
    return { value: undefined, writes: changeRows(state, { returned }) };
  });

const values = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map((row) => row["value"]);

type Row = { ordinal: number; value: number };

const command = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ remove: fc.array(fc.nat(200), { minLength: 1, maxLength: 6 }) }),
  fc.record({ restore: fc.array(fc.nat(200), { minLength: 1, maxLength: 4 }) }),
  fc.record({ page: fc.nat(6), size: fc.integer({ min: 1, max: 9 }), newest: fc.boolean() }),
);

test("the pages and totals of a list are those of a plain array", { timeout: 30_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const list = newList();
      let model: Row[] = [];
      let gone: Row[] = [];
      let next = 0;
      for (const step of commands) {
        if ("add" in step) {
          const added = Array.from({ length: step.add }, () => ({ ordinal: next, value: next++ }));
          expect(
            await add(
              list,
              added.map((row) => row.value),
            ),
          ).toBe(added[0]?.ordinal);
          model.push(...added);
        } else if ("remove" in step) {
          const picked = [...new Set(step.remove)].flatMap((index) => model[index] ?? []);
          if (picked.length > 0)
            await remove(
              list,
              picked.map((row) => row.ordinal),
            );
          model = model.filter((row) => !picked.includes(row));
          gone.push(...picked);
        } else if ("restore" in step) {
          const picked = [...new Set(step.restore)].flatMap((index) => gone[index] ?? []);
          if (picked.length > 0) await restore(list, picked);
          gone = gone.filter((row) => !picked.includes(row));
          model = [...model, ...picked].toSorted((a, b) => a.ordinal - b.ordinal);
        } else {
          const ordered = step.newest ? model.toReversed() : model;
          const skip = step.page * step.size;
          const order = step.newest ? ("desc" as const) : ("asc" as const);
          const page = await readRows(table, list, { skip, take: step.size, order });
          expect(page.total).toBe(model.length);
          expect(values(page.rows)).toEqual(ordered.slice(skip, skip + step.size).map((row) => row.value));
        }
      }
    }),
    { numRuns: 40 },
  );
});

test("a list stays exact if many writers add and remove rows at once", async () => {
  const list = newList();
  const first = await Promise.all(Array.from({ length: 20 }, (_, value) => add(list, [value])));
  expect(first.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, ordinal) => ordinal));
  const removed = first.slice(0, 10);
  await Promise.all([
    ...removed.map((ordinal) => remove(list, [ordinal])),
    ...Array.from({ length: 10 }, (_, value) => add(list, [100 + value])),
  ]);
  const { rows, total } = await readRows(table, list, { skip: 0, take: 100 });
  expect(total).toBe(20);
  expect(rows).toHaveLength(20);
  expect(new Set(rows.map((row) => row.SK)).size).toBe(20);
  for (const ordinal of removed) expect(rows.map((row) => row.SK)).not.toContain(rowKey(list, ordinal).SK);
});

const restoreFive = (list: List) => restore(list, [{ ordinal: 5, value: 5 }]);
const removing = (ordinal: number) => (list: List) => remove(list, [ordinal]);

/** Changes of a list of ten rows without row 5, with the rows after each change. Some counts of rows repeat. */
const exchanges: [act: (list: List) => Promise<unknown>, after: number[]][][] = [
  [
    [restoreFive, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [removing(9), [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [removing(6), [0, 1, 2, 3, 4, 5, 7, 8]],
  ],
  [
    [(list) => add(list, [10]), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]],
    [restoreFive, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [removing(6), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10]],
  ],
];

const spans = [
  { skip: 0, take: 10 },
  { skip: 4, take: 3 },
  { skip: 5, take: 2 },
  { skip: 6, take: 3 },
];

test("a page shows one moment, even if rows are removed and restored between its reads", async () => {
  for (const exchange of exchanges) {
    const moments = [[0, 1, 2, 3, 4, 6, 7, 8, 9], ...exchange.map(([, after]) => after)];
    for (const { skip, take } of spans) {
      const pages = moments.map((moment) => [moment.slice(skip, skip + take), moment.length]);
      for (let at = 0, calls = 1; at < calls; at++) {
        const list = newList();
        await add(list, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        await remove(list, [5]);
        const happen = async () => {
          for (const [act] of exchange) await act(list);
        };
        const done = await withStep(at, happen, () => readRows(table, list, { skip, take }));
        expect(pages).toContainEqual([values(done.value.rows), done.value.total]);
        calls = done.calls;
      }
    }
  }
});

test("a removal is planned again if it read its bitmap before another row was restored", async () => {
  const isDeletions = ({ SK }: Key): boolean => SK.includes("#HOLES#");
  for (const isFirst of [isDeletions, (key: Key) => !isDeletions(key)]) {
    const list = newList();
    await add(list, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await remove(list, [5]);
    const exchange = async () => {
      await remove(list, [6]);
      await restore(list, [{ ordinal: 5, value: 5 }]);
    };
    await inTornBatch(isFirst, exchange, () => remove(list, [0]));
    const { rows, total } = await readRows(table, list, { skip: 0, take: 100 });
    expect([total, values(rows)]).toEqual([8, [1, 2, 3, 4, 5, 7, 8, 9]]);
    // The bitmap decides where a later page begins.
    expect(values((await readRows(table, list, { skip: 5, take: 2 })).rows)).toEqual([7, 8]);
  }
});

test("a row is restored to its place only once, even if several transactions restore it at the same time", async () => {
  const list = newList();
  await add(list, [0, 1, 2]);
  await remove(list, [1]);
  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => restoreRowOne(list)));
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value)).toHaveLength(1);
  expect(values((await readRows(table, list, { skip: 0, take: 9 })).rows)).toEqual([0, 1, 2]);
});

/** Restores row 1 unless it is there. Returns whether it restored the row. */
const restoreRowOne = (list: List): Promise<boolean> =>
  table.commit(async () => {
    const { state, others } = await readList(table, list, [1], [rowKey(list, 1)]);
    if (others[0]) return { value: false, writes: [] };
    return { value: true, writes: changeRows(state, { returned: new Map([[1, { value: 1 }]]) }) };
  });

test("a page that is read while rows are removed has as many rows as its total says", async () => {
  const list = newList();
  await add(
    list,
    Array.from({ length: 40 }, (_, value) => value),
  );
  const churn = Promise.all(Array.from({ length: 15 }, (_, ordinal) => remove(list, [ordinal])));
  const pages = await Promise.all(Array.from({ length: 15 }, () => readRows(table, list, { skip: 0, take: 50 })));
  await churn;
  for (const { rows, total } of pages) expect(rows).toHaveLength(total);
});

test("a transaction with `unchangedList` is planned again only if the list has changed", async () => {
  for (const before of [[], [1]]) {
    for (const changes of [false, true]) {
      const list = newList();
      if (before.length > 0) await add(list, before);
      let runs = 0;
      const total = await table.commit(async () => {
        const { state } = await readList(table, list);
        if (runs++ === 0 && changes) await add(list, [2]);
        return { value: state.live, writes: [unchangedList(state), { put: rowKey(newList(), 0) }] };
      });
      expect([runs, total]).toEqual(changes ? [2, before.length + 1] : [1, before.length]);
    }
  }
});

test("a row is removed only once, even if several transactions remove it at the same time", async () => {
  const list = newList();
  await add(list, [1, 2, 3]);
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => remove(list, [1])));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect((await readRows(table, list, { skip: 0, take: 10 })).total).toBe(2);
});

test("a page can have rows of two blocks, with removed rows on both sides", async () => {
  const list = newList();
  for (let start = 0; start < 4_200; start += 98)
    await add(
      list,
      Array.from({ length: 98 }, (_, index) => start + index),
    );
  await remove(list, [4_090, 4_094, 4_095, 4_096, 4_099]);
  const { rows, total } = await readRows(table, list, { skip: 4_088, take: 10 });
  expect(values(rows)).toEqual([4_088, 4_089, 4_091, 4_092, 4_093, 4_097, 4_098, 4_100, 4_101, 4_102]);
  expect(total).toBe(4_214 - 5);
});

test("a removal that reads the head and the bitmap at two moments reads them again, and the list stays correct", async () => {
  const isDeletions = ({ SK }: Key): boolean => SK.includes("#HOLES#");
  for (const isFirst of [isDeletions, (key: Key) => !isDeletions(key)]) {
    const list = newList();
    await add(list, [0, 1, 2, 3, 4]);
    await remove(list, [1]);
    await inTornBatch(
      isFirst,
      () => remove(list, [2]),
      () => remove(list, [0]),
    );
    const { rows, total } = await readRows(table, list, { skip: 0, take: 100 });
    expect([total, values(rows)]).toEqual([2, [3, 4]]);
  }
});

test("a list whose head is lost can be rebuilt, even if all of its rows were deleted", async () => {
  const list = newList();
  const writes = Array.from({ length: 40 }, (_, block) => ({
    put: {
      PK: list.partition,
      SK: `LIST#rows#HOLES#${String(block).padStart(10, "0")}`,
      bits: new Uint8Array(512).fill(0xff),
    },
  }));
  await table.commit(async () => ({ value: 0, writes }));
  expect(await rebuiltState(table, list, 0)).toMatchObject({ next: 40 * 4_096, live: 0 });
});
