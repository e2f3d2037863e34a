import { expect, test } from "vitest";

import { openLanes } from "../../../../infra/local/events/event-target.ts";

/** Lanes with tasks that end only when `end` is called. `begun` has the tasks that have begun. */
function lanesOf(given: { atOnce: number; perLane: number }) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const lanes = openLanes({
    ...given,
    run: (id) => {
      begun.push(id);
      return new Promise((resolve) => void ends.set(id, resolve));
    },
  });
  const end = async (id: string): Promise<void> => {
    ends.get(id)?.();
    await new Promise(setImmediate);
  };
  return { lanes, begun, end };
}

test("a lane runs a limited number of tasks, and begins its next task, in order, as soon as one has ended", async () => {
  const { lanes, begun, end } = lanesOf({ atOnce: 10, perLane: 2 });
  for (const id of ["a1", "a2", "a3", "a4", "b1"]) lanes.add(id.charAt(0), id);
  expect(begun).toEqual(["a1", "a2", "b1"]);
  await end("a2");
  await end("b1");
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
  await end("a1");
  expect(begun.at(-1)).toBe("a4");
});

test("if there are fewer places than lanes, the lanes take turns", async () => {
  const { lanes, begun, end } = lanesOf({ atOnce: 1, perLane: 1 });
  for (const id of ["a1", "a2", "a3", "b1", "b2", "c1"]) lanes.add(id.charAt(0), id);
  for (let n = 0; n < 6; n++) await end(begun.at(-1) ?? "");
  expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("a task that waits or runs is not added again, and can be added again after it has ended", async () => {
  const { lanes, begun, end } = lanesOf({ atOnce: 1, perLane: 1 });
  for (const id of ["a1", "a1", "a2", "a2"]) lanes.add("a", id);
  expect(lanes.ids()).toEqual(new Set(["a1", "a2"]));
  await end("a1");
  await end("a2");
  expect([begun, lanes.ids()]).toEqual([["a1", "a2"], new Set()]);
  lanes.add("a", "a1");
  expect(begun).toEqual(["a1", "a2", "a1"]);
});

test("stop waits for running tasks, and no other task begins", async () => {
  const { lanes, begun, end } = lanesOf({ atOnce: 1, perLane: 1 });
  for (const id of ["a1", "a2"]) lanes.add("a", id);
  let isStopped = false;
  const stopped = lanes.stop().then(() => (isStopped = true));
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  await end("a1");
  await stopped;
  expect(begun).toEqual(["a1"]);
});
