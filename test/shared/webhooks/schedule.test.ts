import fc from "fast-check";
import { expect, test } from "vitest";

import { nextAttempt } from "../../../shared/webhooks/schedule.ts";

/** The number of scheduled attempts of a delivery. */
const attemptLimit = 10;
const now = new Date("2026-03-29T00:30:00Z");
const middle = () => 0.5;
const waitSeconds = (attempt: number, retryAfterSeconds?: number, random = middle): number | undefined => {
  const next = nextAttempt(attempt, now, retryAfterSeconds, random);
  return next && (next.getTime() - now.getTime()) / 1_000;
};

test("the waits between ten attempts become longer each time, and take 75 hours in total", () => {
  const waits = Array.from({ length: attemptLimit - 1 }, (_, index) => waitSeconds(index + 1) ?? 0);
  expect(waits).toEqual([60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect(waits.reduce((sum, wait) => sum + wait) / 3_600).toBeCloseTo(75.6);
  expect([waitSeconds(10), waitSeconds(11)]).toEqual([undefined, undefined]);
});

test("a wait differs from its middle by at most 10 %, for every random number", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: attemptLimit - 1 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, chance) => {
        const expected = waitSeconds(attempt) ?? Number.NaN;
        const wait = waitSeconds(attempt, undefined, () => chance) ?? Number.NaN;
        expect(Math.abs(wait - expected)).toBeLessThanOrEqual(expected * 0.1 + 0.001);
      },
    ),
  );
  expect([waitSeconds(1, 0, () => 0), waitSeconds(1, 0, () => 1 - Number.EPSILON)]).toEqual([54, 66]);
});

test("a wait is the longer of the scheduled wait and the wait that the receiver asks for, which counts up to a day", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: attemptLimit - 1 }), fc.nat({ max: 1_000_000 }), (attempt, asked) => {
      const wait = waitSeconds(attempt, asked);
      expect(wait).toBe(Math.max(waitSeconds(attempt) ?? Number.NaN, Math.min(asked, 86_400)));
    }),
  );
});

test("no attempt follows the last attempt, even if the receiver asks for more time", () => {
  expect(waitSeconds(attemptLimit, 60)).toBeUndefined();
});
