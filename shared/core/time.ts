import * as z from "zod";

/** A time on the wire: RFC 3339, UTC, milliseconds, `Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The time `ms` milliseconds after `from`, as a `Timestamp`. */
export const later = (from: Date, ms: number): string => new Date(from.getTime() + ms).toISOString();

/** The waits between checks after failures, in milliseconds: from a minute to a day. */
export const checkWaitsMs = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);

/** The time of the next check. The wait grows with the number of failed checks in a row, up to a day. */
export const nextCheckAt = (failures: number, now: Date): string =>
  later(now, checkWaitsMs[Math.min(failures, checkWaitsMs.length - 1)] ?? dayMs);

/**
 * The time of the next daily check, with a random spread: 0.9 to 1.1 days later. So domains or dedicated IPs that were
 * added at the same time are not checked at the same time for ever.
 */
export const inAboutADay = (now: Date): string => later(now, dayMs * (0.9 + Math.random() / 5));

/**
 * The same day, `years` years later, in UTC. The 29th of February becomes the 1st of March in a year that is not a leap
 * year.
 */
export function yearsAfter(date: Date, years: number): Date {
  const after = new Date(date);
  after.setUTCFullYear(after.getUTCFullYear() + years);
  return after;
}

/**
 * The same time, `months` months later, in UTC. If the new month is too short for the day, the result is in the month
 * after the new month.
 */
export function monthsAfter(date: Date, months: number): Date {
  const after = new Date(date);
  after.setUTCMonth(after.getUTCMonth() + months);
  return after;
}

let aheadMs = 0;

/** The time of this process: the time of the machine, plus the time that `setClockAhead` has set. */
export const clock = (): Date => new Date(Date.now() + aheadMs);

/**
 * Sets how far `clock` is ahead of the machine's time. The local runtime uses this to let people try out a later time.
 */
export function setClockAhead(ms: number): void {
  aheadMs = ms;
}

/**
 * A time in the future, as a caller gives it: RFC 3339 with any offset. The output is a `Timestamp`. The schema accepts
 * a time that has passed, because a repeat of an answered request gets its answer even after this time.
 * `requireFutureEnds` refuses such a time before a request runs. It finds the times by the name `expires_at`, so the
 * member must have this name.
 */
export const FutureTime = z.iso
  .datetime({ offset: true, abort: true })
  .refine((at) => new Date(at).getUTCFullYear() <= 9999, { error: "Write a time before the year 10000" })
  .overwrite((at) => new Date(at).toISOString());

/** A calendar day in UTC: `2026-11-20`. */
export const Day = z.iso.date();
export type Day = string;

/** The UTC day of a time. */
export const dayOf = (at: Date): Day => at.toISOString().slice(0, 10);
/** The start of a UTC day. */
export const startOf = (day: Day): Date => new Date(`${day}T00:00:00.000Z`);

/** The day `days` days after `day`. */
export const plusDays = (day: Day, days: number): Day => dayOf(new Date(startOf(day).getTime() + days * dayMs));

/** The days from `from` to `to`, both included; none if `to` is before `from`. */
export function daysBetween(from: Day, to: Day): Day[] {
  const count = Math.round((startOf(to).getTime() - startOf(from).getTime()) / dayMs) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => plusDays(from, index));
}

/** The first day of the month of `day`. */
export const monthOf = (day: Day): Day => `${day.slice(0, 7)}-01`;

/** The first day of the month after the month of `day`. */
export const nextMonth = (day: Day): Day => monthOf(plusDays(monthOf(day), 31));

/** The number of days in the month of `day`. */
export const daysInMonth = (day: Day): number => daysBetween(monthOf(day), nextMonth(day)).length - 1;
