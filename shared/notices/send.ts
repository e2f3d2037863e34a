import { hash } from "node:crypto";

import * as z from "zod";

import { accountKey, StoredAccount } from "../accounts/account.ts";
import { mapConcurrently, allFulfilled } from "../core/concurrency.ts";
import { dayMs, later } from "../core/time.ts";
import type { WorkerContext } from "../http/worker.ts";
import { letterOf, sentence, shortened } from "../letters/letter.ts";
import { type Letter, type Mail, MailRefused } from "../providers/mail/mail.ts";
import type { Key } from "../table/writes.ts";
import { callOf, type Notice, type NoticeCategory, type NoticeEvent, paragraph } from "./notice.ts";
import { noticeMakers } from "./notices.ts";
import { membersAmong, nameOf, recipientsOf } from "./recipients.ts";

/*
 * Access patterns
 *   whether a recipient got the mail about a matter        ACCOUNT#<id> / NOTICE#<hash of matter>#<hash of address>
 *   the matters that were mailed for the events of a day   ACCOUNT#<id> / NOTICES#<day>#<category>
 */
const sentKey = (accountId: string, matter: string, address: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `NOTICE#${matter}#${hashOf(address.toLowerCase())}`,
});
const dayKey = ({ account_id, timestamp }: NoticeEvent, category: NoticeCategory): Key => ({
  PK: `ACCOUNT#${account_id}`,
  SK: `NOTICES#${timestamp.slice(0, 10)}#${category}`,
});

const hashOf = (text: string): string => hash("sha256", text).slice(0, 24);

export type NoticeWork = WorkerContext & { mail: Mail };

/** The age, in milliseconds, from which on an event is not news any more. The operator can replay events of any age. */
const newsMs = 3 * dayMs;

/** How long the table remembers that a recipient got a mail, in milliseconds. */
const sentKeptMs = 30 * dayMs;

/** The lease of a mail, in milliseconds: longer than one invocation of the worker lasts. */
const leaseMs = 60_000;

/**
 * The most matters of one category that are mailed about the events of one day in an account. The mail about the last
 * matter says that no further mails follow.
 */
const mattersPerDay = 30;

/** How many mails of one notice are sent at the same time. */
const mailsAtOnce = 5;

const ttlAt = (now: Date): number => Math.ceil((now.getTime() + sentKeptMs) / 1_000);

/**
 * Sends the mails about an event to the people who should know of it. Does nothing for an event that is not news.
 * - A repeated call sends no second mail to a recipient, except if the mail was sent and its result was not stored: the
 *   process died, or the answer of the mail server was lost. The second mail has the same Message-ID as the first.
 * - An address that is refused for good is not tried again. A refused or failed address does not stop the mails to
 *   other addresses.
 * - Throws 503 if the mail server does not answer. Throws an Error while another worker sends one of the mails. In
 *   both cases the caller has to repeat the call later.
 * - A recipient gets at most 30 mails of a category about the events of one day in an account.
 */
export async function sendNotice(event: NoticeEvent, work: NoticeWork): Promise<void> {
  const { table, now, log } = work;
  const maker = noticeMakers[event.type];
  if (!maker || now().getTime() - Date.parse(event.timestamp) > newsMs) return;
  const subjectId = z.object({ subject_id: z.string() }).safeParse(event.data).data?.subject_id;
  const named = [event.actor.id, ...(subjectId === undefined ? [] : [subjectId])];
  const [account, members] = await Promise.all([
    table.get(accountKey(event.account_id), StoredAccount),
    membersAmong(table, event.account_id, named, now()),
  ]);
  const notice = account && maker(event, (person) => nameOf(person, members), account);
  // A closed account has no use for mails about its domains.
  if (!notice || (account.status === "closed" && event.type.startsWith("domain."))) return;
  const recipients = await recipientsOf(table, account.id, notice, now());
  if (recipients.length === 0) return;
  const matter = hashOf(`${account.id} ${notice.matter ?? event.id}`);
  const place = await admit(event, notice.category, matter, work);
  if (place >= mattersPerDay) {
    log.info("notice over the limit of the day", { account_id: account.id, event_id: event.id });
    return;
  }
  const letter = noticeLetter(event, account, notice, place === mattersPerDay - 1);
  const results = await mapConcurrently(recipients, mailsAtOnce, (address) =>
    sendTo(address, { accountId: account.id, matter, letter }, work),
  );
  allFulfilled(results);
}

const DayMatters = z.object({ matters: z.array(z.string()), version: z.int() });

/**
 * Counts a matter once among the matters of its day and category. Returns the number of matters before this matter. If
 * the day is full and does not have this matter, returns `mattersPerDay`.
 */
const admit = (event: NoticeEvent, category: NoticeCategory, matter: string, { table, now }: NoticeWork) =>
  table.commit(async () => {
    const key = dayKey(event, category);
    const { matters, version } = (await table.get(key, DayMatters)) ?? { matters: [], version: 0 };
    const place = matters.indexOf(matter);
    if (place >= 0 || matters.length >= mattersPerDay) {
      return { value: place >= 0 ? place : mattersPerDay, writes: [] };
    }
    const put = { ...key, matters: [...matters, matter], version: version + 1, ttl: ttlAt(now()) };
    return { value: matters.length, writes: [{ put, if: version === 0 ? "absent" : { version } }] };
  });

/** The letter of a notice. The last letter of a day says that no further letters follow. */
function noticeLetter(
  event: NoticeEvent,
  { id, name }: Pick<StoredAccount, "id" | "name">,
  { category, subject, blocks }: Notice,
  isLast: boolean,
): Pick<Letter, "subject" | "text" | "html"> {
  const last = [
    paragraph`There were ${mattersPerDay} mails of this kind about this day, and this is the last one. This call lists everything that happened:`,
    callOf(event, "GET", "/audit-log"),
  ];
  return letterOf({
    subject,
    blocks: [paragraph`This is about your account “${shortened(name)}”.`, ...blocks, ...(isLast ? last : [])],
    foot: sentence`You get this mail because you own the account ${id} of Hosted Mail, because you were chosen to get it, or because it is about you. Its category is “${category}”. The function “notices.update” sets who gets which mails. Times are in UTC. This mail was sent automatically, and nobody reads replies to it.`,
  });
}

/** Sends the mail about a matter to one recipient, unless the recipient has got it already. */
async function sendTo(
  address: string,
  {
    accountId,
    matter,
    letter,
  }: { accountId: string; matter: string; letter: Pick<Letter, "subject" | "text" | "html"> },
  { table, mail, now, log }: NoticeWork,
): Promise<void> {
  const key = sentKey(accountId, matter, address);
  const at = now();
  const lease_until = later(at, leaseMs);
  const taken = await table.attempt({
    put: { ...key, state: "sending", lease_until, ttl: ttlAt(at) },
    if: { absentOr: { state: "sending", lease_until: { atMost: at.toISOString() } } },
  });
  if (!taken.done) {
    if (taken.found["state"] === "sending") throw new Error("Another worker is sending this notice.");
    return;
  }
  const update = (members: { state?: string; lease_until?: string }) =>
    table.attempt({ update: key, set: members, if: { state: "sending", lease_until } });
  try {
    await mail.send({ id: `notice.${matter}.${hashOf(address.toLowerCase())}`, to: address, ...letter });
  } catch (error) {
    if (!(error instanceof MailRefused)) {
      // Ends the lease at once, so that a repeated call can send the mail.
      await update({ lease_until: "" }).catch(() => undefined);
      throw error;
    }
    log.info("notice refused", { account_id: accountId });
    await update({ state: "refused" });
    return;
  }
  await update({ state: "sent" });
}
