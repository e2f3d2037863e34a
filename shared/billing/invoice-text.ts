import { money } from "../core/money.ts";

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** "3 January 2026", the day in UTC. Throws a RangeError for a time that is none. */
export const invoiceDay = (time: string | number): string => days.format(new Date(time));

/** From the first day to the last one; `periodEnd` is the day after that. */
export function invoicePeriod({ periodStart, periodEnd }: { periodStart: string; periodEnd: string }): string {
  const [first, last] = [invoiceDay(periodStart), invoiceDay(Date.parse(periodEnd) - 1)];
  return first === last ? first : `${first} – ${last}`;
}

/** Minor units in groups of three: 123456789 → "1,234,567.89". */
export const groupedMoney = (minor: number): string => money(minor).replaceAll(/\B(?=(?:\d{3})+\.)/g, ",");
