import { plusDays, type Day } from "./time.ts";

/*
 * Billing records each day later: it computes the day's charges after the day has ended. A value that decides about the
 * charges can change in the meantime. So the stored value keeps its former values, and a day is charged by the value at
 * the end of this day.
 */

/** A former value. `until` is the last day that ended with this value. */
export type Former<T> = T & { until: Day };

/** For how many days former values are kept. Billing records a day much sooner. */
const formerDays = 60;

/** The value at the end of a day. `former` are the former values, oldest first. */
export const valueOn = <T>(day: Day, present: T, former: readonly Former<T>[] = []): T =>
  former.find(({ until }) => day <= until) ?? present;

/** The former values, oldest first, after the value `before` is replaced today. Drops values that ended long ago. */
export function withFormer<T>(former: readonly Former<T>[] = [], before: T, today: Day): Former<T>[] {
  const [yesterday, oldest] = [plusDays(today, -1), plusDays(today, -formerDays)];
  const kept = former.filter(({ until }) => until >= oldest);
  // If the value has changed earlier today, the list already has the value with which yesterday ended. In this case no
  // day ended with `before`, so `before` is not added.
  return (kept.at(-1)?.until ?? "") >= yesterday ? kept : [...kept, { ...before, until: yesterday }];
}
