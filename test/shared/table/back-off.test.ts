import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, test, vi } from "vitest";

import { backOff, fairBackOff } from "../../../shared/table/failures.ts";
import { newLocks } from "../../../shared/table/locks.ts";
import { openTable } from "../../../shared/table/table.ts";

afterEach(() => void vi.restoreAllMocks());

/** The milliseconds that `wait` waits if `Math.random` returns `chance`. The test itself does not wait. */
async function waitOf(chance: number, wait: () => Promise<void>): Promise<number> {
  vi.spyOn(Math, "random").mockReturnValue(chance);
  let waitedMs = -1;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waitedMs = ms;
    done();
  }) as typeof setTimeout);
  await wait();
  return waitedMs;
}

test("the longest wait doubles from 10 ms to 320 ms, and the actual wait is a random part of it", async () => {
  const longest = [];
  for (const attempt of [1, 2, 3, 5, 6, 7, 30]) longest.push(await waitOf(1, () => backOff(attempt)));
  expect(longest).toEqual([10, 20, 40, 160, 320, 320, 320]);
  expect(await waitOf(0.25, () => backOff(3))).toBe(10);
  expect(await waitOf(0, () => backOff(3))).toBe(0);
});

describe("a fair wait", () => {
  test("doubles to 640 ms", async () => {
    const longest = [];
    for (const attempt of [1, 6, 7, 8, 30]) longest.push(await waitOf(1, () => fairBackOff(attempt, 0, 1_000)));
    expect(longest).toEqual([10, 320, 640, 640, 640]);
  });

  test("is shorter if the caller has already waited longer, and never zero", async () => {
    const of = (waitedMs: number) => waitOf(1, () => fairBackOff(1, waitedMs, 1_000));
    expect([await of(250), await of(500), await of(2_000)]).toEqual([7.5, 5, 0.2]);
  });
});

test("a transaction that loses against another process waits longer after each loss, beginning with 10 ms", async () => {
  const waited: number[] = [];
  vi.spyOn(performance, "now").mockReturnValue(0);
  vi.spyOn(Math, "random").mockReturnValue(1);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, ms: number) => {
    waited.push(ms);
    done();
  }) as typeof setTimeout);
  const refused = { message: "canceled", $metadata: {}, CancellationReasons: [{ Code: "TransactionConflict" }] };
  const named = (name: string) => Object.assign(new Error(name), { name });
  const failures = [
    ...Array.from({ length: 3 }, () => new TransactionCanceledException(refused)),
    ...Array.from({ length: 2 }, () => named("TransactionInProgressException")),
  ];
  const send = async () => {
    const failure = failures.shift();
    if (failure) throw failure;
    return {};
  };
  const table = openTable({ send, locks: newLocks() } as never, "t");
  const write = { put: { PK: "p", SK: "s" }, if: { version: 1 } };
  expect(await table.commit(async () => ({ value: "done", writes: [write] }))).toBe("done");
  // The waits for a transaction that the table is still at work on begin with 10 ms again.
  expect(waited).toEqual([10, 20, 40, 10, 20]);
});
