import * as z from "zod";

/** A calendar day in UTC: `2026-11-20`. */
export const Day = z.iso.date();
export type Day = string;

const msPerDay = 86_400_000;

export const dayOf = (at: Date): Day => at.toISOString().slice(0, 10);
export const startOf = (day: Day): Date => new Date(`${day}T00:00:00.000Z`);

/** The day `days` days after `day`. */
export const plusDays = (day: Day, days: number): Day => dayOf(new Date(startOf(day).getTime() + days * msPerDay));

/** The days from `from` to `to`, both included; none if `to` is before `from`. */
export function daysBetween(from: Day, to: Day): Day[] {
  const count = Math.round((startOf(to).getTime() - startOf(from).getTime()) / msPerDay) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => plusDays(from, index));
}

/** The first day of the month of `day`. */
export const monthOf = (day: Day): Day => `${day.slice(0, 7)}-01`;

/** The first day of the month after the month of `day`. */
export const nextMonth = (day: Day): Day => monthOf(plusDays(monthOf(day), 31));

/** The number of days in the month of `day`. */
export const daysInMonth = (day: Day): number => daysBetween(monthOf(day), nextMonth(day)).length - 1;
