import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";

import { newLocks } from "../../../shared/table/locks.ts";

const things = ["a", "b", "c", "d"];
const request = fc.record({
  names: fc.subarray(things, { minLength: 1 }),
  /** The number of turns of the event loop for which the caller holds the items. */
  lasts: fc.nat(3),
  fails: fc.boolean(),
});

test("each item is held by one caller at a time, in the order of the requests, even after failures, and no lock stays", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 25 }), async (requests) => {
      const locks = newLocks();
      const busy = new Set<string>();
      const order: number[] = [];
      const runs = requests.map(async ({ names, lasts, fails }, index) => {
        const end = await locks.acquire(names, 60_000);
        try {
          for (const name of names) expect(busy).not.toContain(name);
          for (const name of names) busy.add(name);
          order.push(index);
          for (let turn = 0; turn < lasts; turn++) await new Promise((done) => setImmediate(done));
          for (const name of names) busy.delete(name);
          if (fails) throw new Error("failed");
        } finally {
          end?.();
        }
      });
      await Promise.allSettled(runs);
      for (const thing of things) {
        const asked = requests.flatMap(({ names }, index) => (names.includes(thing) ? [index] : []));
        expect(order.filter((index) => asked.includes(index))).toEqual(asked);
      }
      expect(order).toHaveLength(requests.length);
      expect(locks.locked(things)).toEqual([]);
    }),
  );
});

test("a caller who waits for too long gets no lock, and a later caller still waits for the earlier callers", async () => {
  const locks = newLocks();
  const endFirst = await locks.acquire(["a"], 60_000);
  expect(await locks.acquire(["a", "b"], 1)).toBeUndefined();
  let isThird = false;
  const third = locks.acquire(["a"], 60_000).then((end) => {
    isThird = true;
    return end;
  });
  await new Promise((done) => setImmediate(done));
  expect(isThird).toBe(false);
  endFirst?.();
  (await third)?.();
  expect(locks.locked(things)).toEqual([]);
});

test("a caller that gives up leaves no lock behind", async () => {
  const locks = newLocks();
  const endFirst = await locks.acquire(["a"], 60_000);
  expect(await locks.acquire(["a", "b"], 0)).toBeUndefined();
  const endOther = await locks.acquire(["b"], 60_000);
  expect(endOther).toBeDefined();
  endOther?.();
  endFirst?.();
  await new Promise((done) => setImmediate(done));
  expect(locks.locked(["a", "b"])).toEqual([]);
});

test("a free lock is granted at once, for all items or for none", async () => {
  const locks = newLocks();
  const end = locks.tryAcquire(["a", "b", "a"]);
  expect(locks.locked(things)).toEqual(["a", "b"]);
  expect([locks.tryAcquire(["b", "c"]), locks.locked(things)]).toEqual([undefined, ["a", "b"]]);
  const [endOther, endNone] = [locks.tryAcquire(["c"]), locks.tryAcquire([])];
  end?.();
  expect(locks.locked(things)).toEqual(["c"]);
  endNone?.();
  endOther?.();
  expect(locks.locked(things)).toEqual([]);
});

test("a caller who gets a lock leaves no timer behind", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const locks = newLocks();
  (await locks.acquire(["a"], 60_000))?.();
  expect(vi.getTimerCount()).toBe(0);
});
