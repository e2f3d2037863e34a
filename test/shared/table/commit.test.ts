import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";
import * as z from "zod";

import { withStep } from "../../support/between-calls.ts";
import { testTable } from "../../support/world.ts";

const Counter = z.object({ count: z.int() });
const newKey = () => ({ PK: `TEST#${randomUUID()}`, SK: "counter" });
type Key = ReturnType<typeof newKey>;

const table = testTable();

/** Adds one to each counter, in one transaction. Returns how often the plan ran. */
async function raise(keys: readonly Key[]): Promise<number> {
  let runs = 0;
  await table.commit(async () => {
    runs += 1;
    const counters = await Promise.all(keys.map((key) => table.get(key, Counter)));
    const writes = keys.map((key, index) => {
      const { count } = counters[index] ?? { count: 0 };
      return { put: { ...key, count: count + 1 }, if: count === 0 ? ("absent" as const) : { count } };
    });
    return { value: undefined, writes };
  });
  return runs;
}

const countAt = async (key: Key): Promise<number> => (await table.get(key, Counter))?.count ?? 0;

test("100 concurrent transactions that write to one item take turns, and none runs its plan more than three times", async () => {
  const key = newKey();
  const runs = await Promise.all(Array.from({ length: 100 }, () => raise([key])));
  expect(await countAt(key)).toBe(100);
  expect(Math.max(...runs)).toBeLessThanOrEqual(3);
});

test("concurrent transactions all complete, whichever items they have in common", async () => {
  const [a, b, c] = [newKey(), newKey(), newKey()];
  const sets = [[a, b], [b, c], [c, a], [a, b, c], [b], [c, b, a]];
  await Promise.all(Array.from({ length: 10 }, () => sets.map((keys) => raise(keys))).flat());
  expect([await countAt(a), await countAt(b), await countAt(c)]).toEqual([40, 50, 40]);
});

test("a transaction that fails in its turn lets the next transaction continue", async () => {
  const key = newKey();
  const failing = () => {
    let runs = 0;
    return table.commit(async () => {
      const found = await table.get(key, Counter);
      if ((runs += 1) > 1) throw new Error("its turn, and it fails");
      // This condition always fails, so the transaction loses and waits for its turn.
      return { value: found, writes: [{ put: { ...key, count: 0 }, if: { count: -1 } }] };
    });
  };
  const results = await Promise.allSettled([failing(), raise([key]), failing(), raise([key]), raise([key]), failing()]);
  expect(results.map(({ status }) => status)).toEqual([
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  expect(await countAt(key)).toBe(3);
  expect(await raise([key])).toBe(1);
});

test("a transaction that loses against another process between its reads and its commit reads again", async () => {
  const key = newKey();
  const { value: runs } = await withStep(
    1,
    () => table.attempt({ put: { ...key, count: 7 } }),
    () => raise([key]),
  );
  expect(runs).toBe(2);
  expect(await countAt(key)).toBe(8);
});
