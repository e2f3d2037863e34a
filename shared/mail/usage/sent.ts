import * as z from "zod";

import { dayMs, type Day, startOf } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";

/*
 * A mail counts once for each recipient.
 *
 * Access patterns
 *   how many mails an account sent, by the day on which they were reported   ACCOUNT#<id> / SENT#<day>
 *   how many mails a mailbox sent, by the day on which it sent them          ACCOUNT#<id> / SENT_BY#<mailbox id>#<day>
 */
/** The key of the number of mails to bill to an account for a day. */
export const sentKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `SENT#${day}` });

/** The key of the number of mails that a mailbox sent on a day. */
export const sentByKey = (accountId: string, mailboxId: string, day: Day): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SENT_BY#${mailboxId}#${day}`,
});

const Sent = z.object({ count: z.int().min(0) });

/** The counts in the items between two keys of one partition, both included, by the day at the end of each key. */
async function readCounts(table: Reader, first: Key, last: Key): Promise<Map<Day, number>> {
  const items = await table.between(first.PK, first.SK, last.SK);
  return new Map(items.map((item) => [item.SK.slice(-"yyyy-mm-dd".length), Sent.parse(item).count]));
}

/**
 * Reads how many mails to bill to an account for each day from `from` to `to`, both included. Days without mails are
 * left out.
 */
export const readSent = (table: Reader, accountId: string, from: Day, to: Day): Promise<Map<Day, number>> =>
  readCounts(table, sentKey(accountId, from), sentKey(accountId, to));

/** Like `readSent`, for the mails of one mailbox. */
export const readSentBy = (
  table: Reader,
  accountId: string,
  mailboxId: string,
  from: Day,
  to: Day,
): Promise<Map<Day, number>> =>
  readCounts(table, sentByKey(accountId, mailboxId, from), sentByKey(accountId, mailboxId, to));

/**
 * The counts of sent mail are deleted after this many days. If an account is billed later, these mails are not charged.
 */
const keptDays = 400;

/** When the counts of a day are deleted. */
export const sentExpiry = (day: Day): Date => new Date(startOf(day).getTime() + keptDays * dayMs);
