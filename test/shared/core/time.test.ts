import fc from "fast-check";
import { expect, test } from "vitest";

import { dayOf, daysBetween, daysInMonth, monthOf, nextMonth, plusDays, startOf } from "../../../shared/core/time.ts";

const anyDay = fc
  .date({ min: new Date("1999-01-01T00:00:00Z"), max: new Date("2101-01-01T00:00:00Z"), noInvalidDate: true })
  .map(dayOf);

test("days that are subtracted and added again give the same day, and `daysBetween` lists both ends and each day between", () => {
  fc.assert(
    fc.property(anyDay, fc.integer({ min: 0, max: 800 }), (day, count) => {
      expect(plusDays(plusDays(day, -count), count)).toBe(day);
      const days = daysBetween(day, plusDays(day, count));
      expect(days).toHaveLength(count + 1);
      expect([days[0], days.at(-1)]).toEqual([day, plusDays(day, count)]);
      expect(days).toEqual(days.toSorted());
      expect(daysBetween(plusDays(day, 1), day)).toEqual([]);
    }),
  );
});

test("the next month begins on the day after the last day of a month", () => {
  fc.assert(
    fc.property(anyDay, (day) => {
      const last = plusDays(nextMonth(day), -1);
      expect(monthOf(last)).toBe(monthOf(day));
      expect(nextMonth(day)).toBe(plusDays(monthOf(day), daysInMonth(day)));
      expect(nextMonth(day).slice(8)).toBe("01");
      expect(dayOf(startOf(day))).toBe(day);
    }),
  );
});

test.for([
  ["2026-02-11", 28],
  ["2028-02-29", 29],
  ["2100-02-01", 28],
  ["2026-12-31", 31],
  ["2026-04-30", 30],
] as const)("the month of %s has %i days", ([day, days]) => {
  expect(daysInMonth(day)).toBe(days);
});
