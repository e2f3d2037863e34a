import * as z from "zod";

/** A time on the wire: RFC 3339, UTC, milliseconds, `Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The time `ms` milliseconds after `from`, as it is stored. */
export const later = (from: Date, ms: number): string => new Date(from.getTime() + ms).toISOString();

/** The same day, years later. The 29th of February becomes the 1st of March. */
export function yearsAfter(date: Date, years: number): Date {
  const after = new Date(date);
  after.setUTCFullYear(after.getUTCFullYear() + years);
  return after;
}

let aheadMs = 0;

/** The time as this process sees it: the machine's, unless the local runtime has moved it ahead. */
export const clock = (): Date => new Date(Date.now() + aheadMs);

/**
 * Sets how far the clock of this process is ahead of the machine's. The local runtime uses it to try out a later time.
 */
export function setClockAhead(ms: number): void {
  aheadMs = ms;
}

/** A calendar day in UTC: `2026-11-20`. */
export const Day = z.iso.date();
export type Day = string;

export const dayOf = (at: Date): Day => at.toISOString().slice(0, 10);
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
