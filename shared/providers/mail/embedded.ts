import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { timeOrderedId } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { MailRefused, type Letter, type Mail, type MailSender, writtenSender, messageIdOf } from "./mail.ts";

/*
 * Access patterns
 *   a mail by its id, and all mails, newest first   OUTBOX / MAIL#<UUIDv7>
 *   mails to an address, newest first               OUTBOX#<address> / MAIL#<UUIDv7>
 */
const everyone = "OUTBOX";
const partitionOf = (address: string): string => `${everyone}#${address.toLowerCase()}`;
const letterPrefix = "MAIL#";
const mailKey = (id: string): Key => ({ PK: everyone, SK: `${letterPrefix}${id}` });

const keptDays = 7;

const OutboxMail = z.object({
  /** The id in the outbox. A letter that is sent twice is stored twice, with the same Message-ID. */
  id: z.string(),
  message_id: z.string(),
  from: z.string(),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  sent_at: Timestamp,
});
export type OutboxMail = z.output<typeof OutboxMail>;

/** Up to `limit` mails of the outbox, newest first. With `to`, only mails to this recipient. */
export async function outbox(table: Reader, options: { to?: string; limit?: number } = {}): Promise<OutboxMail[]> {
  const { to, limit = 50 } = options;
  const range = [letterPrefix, `${letterPrefix}~`] as const;
  const partition = to === undefined ? everyone : partitionOf(to);
  const items = await table.between(partition, ...range, { limit, newestFirst: true });
  if (to === undefined) return items.map((item) => OutboxMail.parse(item));
  const mails = await table.getMany(items.map(({ SK }) => ({ PK: everyone, SK })));
  return mails.flatMap((item) => (item === undefined ? [] : [OutboxMail.parse(item)]));
}

/** A mail of the outbox; undefined when no mail has this id. */
export const readOutbox = (table: Reader, id: string): Promise<OutboxMail | undefined> =>
  table.get(mailKey(id), OutboxMail);

/**
 * Stores mail in an outbox in the table instead of sending it. Permanently refuses addresses that begin with
 * `refused-`, and throws 503 for addresses that begin with `silent-`.
 */
export const embeddedMail = (table: Table, sender: MailSender, now: () => Date): Mail => ({
  send: async (letter) => {
    if (letter.to.startsWith("refused-")) throw new MailRefused("The outbox answered 550 5.1.1 to RCPT TO.");
    if (letter.to.startsWith("silent-")) {
      throw new Problem("upstream_unavailable", "The outbox does not answer.", { retry_after: 30 });
    }
    const at = now();
    const { PK, SK } = mailKey(timeOrderedId(at));
    const ttl = Math.ceil(at.getTime() / 1_000) + keptDays * 86_400;
    await table.commit(async () => ({
      value: undefined,
      writes: [
        { put: { PK, SK, ...mailOf(letter, sender, SK.slice(letterPrefix.length), at), ttl }, if: "absent" },
        { put: { PK: partitionOf(letter.to), SK, ttl }, if: "absent" },
      ],
    }));
  },
});

const mailOf = (letter: Letter, sender: MailSender, id: string, at: Date): OutboxMail => {
  const { to, subject, text, html } = letter;
  const from = writtenSender(sender);
  return { id, message_id: messageIdOf(letter, sender), from, to, subject, text, html, sent_at: at.toISOString() };
};
