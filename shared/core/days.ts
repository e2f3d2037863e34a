import * as z from "zod";

/** A calendar day in UTC: `2026-11-20`. */
export const Day = z.iso.date();
export type Day = string;

const msPerDay = 86_400_000;

export const dayOf = (at: Date): Day => at.toISOString().slice(0, 10);
export const startOf = (day: Day): Date => new Date(`${day}T00:00:00.000Z`);

/** The day that many days later. */
export const plusDays = (day: Day, days: number): Day => dayOf(new Date(startOf(day).getTime() + days * msPerDay));

/** The days from one to another, both included; none when the second is before the first. */
export function daysBetween(from: Day, to: Day): Day[] {
  const count = Math.round((startOf(to).getTime() - startOf(from).getTime()) / msPerDay) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => plusDays(from, index));
}

/** The first day of the month a day is in. */
export const monthOf = (day: Day): Day => `${day.slice(0, 7)}-01`;

/** The first day of the month after. */
export const nextMonth = (day: Day): Day => monthOf(plusDays(monthOf(day), 31));

/** How many days the month of a day has. */
export const daysInMonth = (day: Day): number => daysBetween(monthOf(day), nextMonth(day)).length - 1;
