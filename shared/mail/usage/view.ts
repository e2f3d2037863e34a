import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { clock, Day, dayOf, daysBetween, Timestamp } from "../../core/time.ts";
import type { Context, Expected } from "../../http/route.ts";
import { firstOfLast } from "../../statistics/statistics.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { expectedMailbox, type FoundMailbox } from "../mailboxes/find.ts";
import { Mailbox } from "../mailboxes/mailbox.ts";
import { usedPercent } from "../mailboxes/quota.ts";
import { readSentBy, sentByKey } from "./sent.ts";

/** The days of sent mail that are shown, today included. */
const shownDays = 30;

export const MailboxUsage = z
  .object({
    mailbox_id: Id.meta({ description: "The mailbox's id." }),
    email: z.string().meta({ description: "The mailbox's address." }),
    bytes: z.int().min(0).meta({ description: "The space that the mailbox uses, in bytes." }),
    messages: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: "The number of mails in the mailbox; null if this number is not known yet." }),
    allowed: z.int().min(0).meta({ description: "The space that the mailbox may use, in bytes." }),
    percent: z.number().min(0).meta({ description: "How much of the allowed space is used, in per cent." }),
    measured_at: Timestamp.nullable().meta({
      description: "When the mail servers measured `bytes` and `messages`; null before the first measurement.",
    }),
    last_login_at: Mailbox.shape.last_login_at,
    sent: z
      .array(
        z
          .object({
            day: Day.meta({ description: "The day, in UTC." }),
            count: z.int().min(0).meta({ description: "The mails of that day, one for each recipient." }),
          })
          .meta({ id: "MailboxSentDay", description: "The mail that a mailbox sent on a day." }),
      )
      .meta({
        description: `The mail that the mailbox sent on each of the last ${shownDays} days, the oldest day first.`,
      }),
  })
  .meta({ id: "MailboxUsage", description: "The usage of a mailbox, as the mail servers report it." });
type MailboxUsage = z.output<typeof MailboxUsage>;

/**
 * The items that `mailboxInPath` and `mailboxUsage` read. They include the counts only if `ref` is an id, or if this
 * process has seen the mailbox.
 */
export function aheadOfUsage(accountId: string, ref: string, expected: Expected): Ahead {
  const { id, keys, again } = expectedMailbox(expected, accountId, ref);
  if (id === undefined) return { keys };
  const today = dayOf(clock());
  const [from, to] = [firstOfLast(shownDays, today), today].map((day) => sentByKey(accountId, id, day));
  const ranges = from && to ? [{ partition: from.PK, from: from.SK, to: to.SK }] : [];
  return { keys, ...(again ? { again } : {}), ranges };
}

/** The usage of a mailbox: its space, its last login, and the mail that it sent on each of the last 30 days. */
export async function mailboxUsage(
  { mailbox, domain }: FoundMailbox,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<MailboxUsage> {
  const today = dayOf(now());
  const first = firstOfLast(shownDays, today);
  const sent = await readSentBy(table, domain.account_id, mailbox.id, first, today);
  return {
    mailbox_id: mailbox.id,
    email: `${mailbox.local_part}@${domain.name}`,
    bytes: mailbox.used,
    messages: mailbox.messages ?? null,
    allowed: mailbox.quota,
    percent: usedPercent(mailbox.used, mailbox.quota),
    measured_at: mailbox.used_at ?? null,
    last_login_at: mailbox.last_login_at,
    sent: daysBetween(first, today).map((day) => ({ day, count: sent.get(day) ?? 0 })),
  };
}
