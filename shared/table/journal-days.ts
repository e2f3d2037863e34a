import * as z from "zod";

import type { Item } from "./writes.ts";

/** A span of time: `fromMs` belongs to it, `untilMs` does not. Milliseconds since 1970 in UTC. */
export type Span = { fromMs: number; untilMs: number };

/** How many entries there are on one UTC day, or on the part of it that a range covers. */
export type Day = Span & { count: number };

export const dayMs = 86_400_000;

/** The last instant with a four-digit year is before this. */
export const endOfTimeMs = Date.UTC(10_000, 0, 1);

/** `yyyy-mm` of an instant, in UTC. */
export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** The attribute of its month's counters that an instant counts in: `d01` to `d31`. */
export const attributeOf = (atMs: number): string => `d${new Date(atMs).toISOString().slice(8, 10)}`;

/** Whether a range covers only a part of the day, which the counters of whole days then do not know. */
export const isCut = ({ fromMs, untilMs }: Span): boolean => untilMs - fromMs < dayMs;

/** How many entries some days have together. */
export const totalOf = (days: readonly Day[]): number => days.reduce((total, { count }) => total + count, 0);

/** The days of a span that have entries, newest first and clipped to the span, each with the count of its whole day. */
export function daysIn({ fromMs, untilMs }: Span, counters: readonly Item[]): Day[] {
  const counts = new Map<number, number>();
  for (const { SK, ...attributes } of counters) {
    const month = SK.split("#").at(-2) ?? "";
    for (const [name, count] of Object.entries(attributes)) {
      if (!/^d[0-3][0-9]$/.test(name)) continue;
      const startMs = Date.parse(`${month}-${name.slice(1)}`);
      counts.set(startMs, (counts.get(startMs) ?? 0) + z.int().parse(count));
    }
  }
  return [...counts]
    .filter(([startMs]) => startMs < untilMs && startMs + dayMs > fromMs)
    .toSorted(([a], [b]) => b - a)
    .map(([startMs, count]) => ({
      fromMs: Math.max(startMs, fromMs),
      untilMs: Math.min(startMs + dayMs, untilMs),
      count,
    }));
}

/** The day that holds a rank (0 is the newest entry), and how many entries are newer than that day. */
export function dayOfRank(days: readonly Day[], rank: number): { day: Day; before: number } {
  let before = 0;
  for (const day of days) {
    if (rank < before + day.count) return { day, before };
    before += day.count;
  }
  throw new RangeError(`There is no rank ${rank} in ${before} entries.`);
}
