import { describe, expect, test } from "vitest";

import { dayMs } from "../../../shared/core/time.ts";
import {
  attributeOf,
  dayOfRank,
  daysIn,
  endOfTimeMs,
  isCut,
  monthOf,
  entryCount,
} from "../../../shared/table/journal.ts";

const at = (text: string) => Date.parse(text);
const counter = (month: string, shard: number, days: object) => ({
  PK: "p",
  SK: `JOURNAL#audit#COUNT#${month}#${shard}`,
  ttl: 1,
  ...days,
});

test("an instant counts in its UTC month and day, up to the end of the year 9999", () => {
  expect([monthOf(at("2026-01-31T23:59:59.999Z")), attributeOf(at("2026-01-31T23:59:59.999Z"))]).toEqual([
    "2026-01",
    "d31",
  ]);
  expect(new Date(endOfTimeMs - 1).toISOString()).toBe("9999-12-31T23:59:59.999Z");
});

describe("the days of a span", () => {
  const counters = [
    counter("2026-01", 0, { d30: 2, d31: 3 }),
    counter("2026-01", 5, { d31: 4 }),
    counter("2026-02", 0, { d01: 5, e01: 9, d1: 9, d40: 9 }),
  ];
  const spanOf = (from: string, until: string) => ({ fromMs: at(from), untilMs: at(until) });
  const daysOf = (from: string, until: string) =>
    daysIn(spanOf(from, until), counters).map((day) => ({
      from: new Date(day.fromMs).toISOString().slice(5, 16),
      until: new Date(day.untilMs).toISOString().slice(5, 16),
      count: day.count,
      isCut: isCut(day),
    }));

  test("are the days with entries, newest first, with the counts of all shards", () => {
    expect(daysOf("2026-01-01T00:00Z", "2026-03-01T00:00Z")).toEqual([
      { from: "02-01T00:00", until: "02-02T00:00", count: 5, isCut: false },
      { from: "01-31T00:00", until: "02-01T00:00", count: 7, isCut: false },
      { from: "01-30T00:00", until: "01-31T00:00", count: 2, isCut: false },
    ]);
    expect(entryCount(daysIn(spanOf("2026-01-01T00:00Z", "2026-03-01T00:00Z"), counters))).toBe(14);
  });

  test("end where the span ends, without a day that only touches the span", () => {
    expect(daysOf("2026-01-31T00:00Z", "2026-02-01T00:00Z")).toEqual([
      { from: "01-31T00:00", until: "02-01T00:00", count: 7, isCut: false },
    ]);
    expect(daysOf("2026-01-30T23:59Z", "2026-01-31T00:01Z")).toEqual([
      { from: "01-31T00:00", until: "01-31T00:01", count: 7, isCut: true },
      { from: "01-30T23:59", until: "01-31T00:00", count: 2, isCut: true },
    ]);
  });
});

test("a rank belongs to the day of its entry", () => {
  const day = (start: number, count: number) => ({ fromMs: start, untilMs: start + dayMs, count });
  const days = [day(2, 3), day(1, 2)];
  const found = [0, 2, 3, 4].map((rank) => dayOfRank(days, rank));
  expect(found.map(({ day: { fromMs }, before }) => [fromMs, before])).toEqual([
    [2, 0],
    [2, 0],
    [1, 3],
    [1, 3],
  ]);
  expect(() => dayOfRank(days, 5)).toThrow(RangeError);
});
