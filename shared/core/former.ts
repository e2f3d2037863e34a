import { plusDays, type Day } from "./time.ts";

/*
 * A value can change after a day and before this day is recorded. So a stored value that decides about the charges of a
 * day keeps its former values. A day is charged by the value at its end, also if the day is recorded late.
 */

/** A former value. `until` is the last day at whose end the value held. */
export type Former<T> = T & { until: Day };

/** The number of days for which former values are kept. The recording of a day is never so late. */
const formerDays = 60;

/** The value at the end of a day. `former` are the former values, oldest first. */
export const valueOn = <T>(day: Day, present: T, former: readonly Former<T>[] = []): T =>
  former.find(({ until }) => day <= until) ?? present;

/** The former values, oldest first, after the value `before` is replaced today. Drops values that ended long ago. */
export function withFormer<T>(former: readonly Former<T>[] = [], before: T, today: Day): Former<T>[] {
  const [yesterday, oldest] = [plusDays(today, -1), plusDays(today, -formerDays)];
  const kept = former.filter(({ until }) => until >= oldest);
  // After another change today, the value at the end of yesterday is in the list already.
  return (kept.at(-1)?.until ?? "") >= yesterday ? kept : [...kept, { ...before, until: yesterday }];
}
