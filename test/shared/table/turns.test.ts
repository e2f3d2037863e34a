import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";

import { newTurns } from "../../../shared/table/commit.ts";

const things = ["a", "b", "c", "d"];
const request = fc.record({
  names: fc.subarray(things, { minLength: 1 }),
  /** How many turns of the event loop one takes for what is to be done. */
  lasts: fc.nat(3),
  fails: fc.boolean(),
});

test("at each thing one at a time has a turn, in the order they asked; all have one, whatever fails; nothing is kept", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 25 }), async (requests) => {
      const turns = newTurns();
      const busy = new Set<string>();
      const order: number[] = [];
      const runs = requests.map(async ({ names, lasts, fails }, index) => {
        const end = await turns.take(names, 60_000);
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
      expect(turns.wanted(things)).toEqual([]);
    }),
  );
});

test("who waits for too long has no turn, and who comes later goes on waiting for those before", async () => {
  const turns = newTurns();
  const endFirst = await turns.take(["a"], 60_000);
  expect(await turns.take(["a", "b"], 1)).toBeUndefined();
  let isThird = false;
  const third = turns.take(["a"], 60_000).then((end) => {
    isThird = true;
    return end;
  });
  await new Promise((done) => setImmediate(done));
  expect(isThird).toBe(false);
  endFirst?.();
  (await third)?.();
  expect(turns.wanted(things)).toEqual([]);
});

test("who gives up stands in nobody's way at a thing that nobody has a turn at", async () => {
  const turns = newTurns();
  const endFirst = await turns.take(["a"], 60_000);
  expect(await turns.take(["a", "b"], 0)).toBeUndefined();
  const endOther = await turns.take(["b"], 60_000);
  expect(endOther).toBeDefined();
  endOther?.();
  endFirst?.();
  await new Promise((done) => setImmediate(done));
  expect(turns.wanted(["a", "b"])).toEqual([]);
});

test("a turn at what nobody wants is there at once, for all of it or for nothing", async () => {
  const turns = newTurns();
  const end = turns.takeFree(["a", "b", "a"]);
  expect(turns.wanted(things)).toEqual(["a", "b"]);
  expect([turns.takeFree(["b", "c"]), turns.wanted(things)]).toEqual([undefined, ["a", "b"]]);
  const [endOther, endNone] = [turns.takeFree(["c"]), turns.takeFree([])];
  end?.();
  expect(turns.wanted(things)).toEqual(["c"]);
  endNone?.();
  endOther?.();
  expect(turns.wanted(things)).toEqual([]);
});

test("who has a turn leaves no timer behind", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const turns = newTurns();
  (await turns.take(["a"], 60_000))?.();
  expect(vi.getTimerCount()).toBe(0);
});
