import * as z from "zod";

import type { Day } from "../core/time.ts";
import { dayMs, plusDays, startOf } from "../core/time.ts";
import type { Counters } from "../table/counters.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";

/*
 * Access patterns
 *   the mail of a domain or a dedicated IP on a day   ACCOUNT#<id> / STATISTICS#<subject type>#<subject id>#<day>
 */
/** A domain or a dedicated IP whose mail is counted. */
export type StatisticsSubject = { type: "domain" | "dedicated_ip"; id: string };

const count = (description: string) => z.int().min(0).meta({ description });

/**
 * The counts of one day, or of several. One mail to several recipients counts once for each recipient. `deferred`
 * counts every attempt that was put off.
 */
export const MailCounts = z.object({
  sent: count("Mails that our servers accepted to send, one for each recipient."),
  delivered: count("Mails that the recipients' servers accepted."),
  deferred: count("Attempts that the recipients' servers put off. Our servers try again."),
  soft_bounced: count("Mails that failed for a reason that may pass, such as a full mailbox."),
  hard_bounced: count("Mails that failed because the address cannot be reached."),
  complained: count("Mails that their recipients reported as spam."),
});
export type MailCounts = z.output<typeof MailCounts>;
export type CountName = keyof MailCounts;

const countNames = MailCounts.keyof().options;

/** The counts of a day without mail. */
export const noMail = Object.fromEntries(countNames.map((name) => [name, 0])) as MailCounts;

/** The table deletes statistics some time after this many days. */
export const statisticsDays = 400;

const statisticsKey = (accountId: string, { type, id }: StatisticsSubject, day: Day): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `STATISTICS#${type}#${id}#${day}`,
});

/** An item has only the counts that are not zero. */
const StoredCounts = MailCounts.partial();

/** Adds to the counts of a domain or a dedicated IP on a day. */
export function countMail(
  counters: Counters,
  accountId: string,
  subject: StatisticsSubject,
  day: Day,
  amounts: Partial<MailCounts>,
): void {
  const expiresAt = new Date(startOf(day).getTime() + statisticsDays * dayMs);
  counters.add(statisticsKey(accountId, subject, day), amounts, expiresAt);
}

/** The range of the items with the counts of the days from `from` to `to`, both included. */
export function statisticsRange(accountId: string, subject: StatisticsSubject, from: Day, to: Day) {
  const [first, last] = [statisticsKey(accountId, subject, from), statisticsKey(accountId, subject, to)];
  return { partition: first.PK, from: first.SK, to: last.SK };
}

/** Reads the counts of the days from `from` to `to`, both included. Days without mail are left out. */
export async function readStatistics(
  table: Reader,
  accountId: string,
  subject: StatisticsSubject,
  from: Day,
  to: Day,
): Promise<Map<Day, MailCounts>> {
  const range = statisticsRange(accountId, subject, from, to);
  const items = await table.between(range.partition, range.from, range.to);
  return new Map(
    items.map((item) => [
      item.SK.slice(-"yyyy-mm-dd".length),
      { ...noMail, ...StoredCounts.parse(item) } as MailCounts,
    ]),
  );
}

/** The sum of the counts of several days. */
export function sumCounts(days: Iterable<MailCounts>): MailCounts {
  const total = { ...noMail };
  for (const day of days) for (const name of countNames) total[name] += day[name];
  return total;
}

/** The first day of the `days` days that end with `today`. */
export const firstOfLast = (days: number, today: Day): Day => plusDays(today, 1 - days);
