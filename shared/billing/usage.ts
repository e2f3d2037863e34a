import * as z from "zod";

import { statusOn } from "../accounts/status.ts";
import { clock, dayOf, daysBetween, monthOf, nextMonth, plusDays, Timestamp, type Day } from "../core/time.ts";
import { accountLimit, ipsOf, StoredIp } from "../dedicated-ips/dedicated-ip.ts";
import { deletedMailboxesOf } from "../mail/mailboxes/deleted.ts";
import { mailboxesOf } from "../mail/mailboxes/mailbox.ts";
import { readSent, sentKey } from "../mail/usage/sent.ts";
import { atOneMoment } from "../table/moment.ts";
import { aheadOfLists, rangeOfRows, readHeads, readList, readRows, unchangedList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { dedicatedIpFirstDays, defaultPlan, planAt, type PlanId, plans } from "../wallet/catalogue.ts";
import { rangeOfPastMailboxes, readPastIps, readPastMailboxes } from "../wallet/past-use.ts";
import { planOn } from "../wallet/state.ts";
import { vatRule } from "../wallet/vat.ts";
import type { AccountBilling, ClaimedIp } from "./book.ts";
import { sumOf, type Accrual } from "./charges.ts";

type UsageByDay = {
  /** How many mailboxes are charged on a day. */
  mailboxesOn: (day: Day) => number;
  /** How many managed dedicated IPs are charged on a day. */
  dedicatedIpsOn: (day: Day) => number;
  /**
   * Whether the account has a managed dedicated IP that counts on a day. An IP counts on the days on which it is
   * charged. In its first days, which are paid in advance, an IP counts only if the price that was paid for these days
   * is enough (`isPaidFor`).
   */
  hasDedicatedIpOn: (day: Day) => boolean;
};

/** Whether the price that was paid for the first days of an IP is enough for one of these days. */
type IsPaidFor = (ip: ClaimedIp, day: Day) => boolean;

/**
 * Reads the usage of an account on the days from `from` on.
 * - A day counts each mailbox that existed on this day, also a mailbox that was deleted or purged later.
 * - A day counts each managed dedicated IP that existed on this day, also an IP that was deleted later. An IP exists
 *   from the day on which it was first ready, when its first days were paid. It is charged from the day on which its
 *   prepaid time ends. An IP that is not ready yet is expected to be ready on the day after `today`. `claimed` are IPs
 *   that a dry run adds.
 * - In its first days, an IP counts in `hasDedicatedIpOn` only on days for which `isPaidFor` returns true.
 */
export async function readUsage(
  table: Reader,
  accountId: string,
  {
    from,
    today,
    claimed = [],
    isPaidFor = () => true,
  }: { from: Day; today: Day; claimed?: readonly ClaimedIp[] | undefined; isPaidFor?: IsPaidFor },
): Promise<UsageByDay> {
  const [mailboxesOn, managed] = await Promise.all([
    countMailboxes(table, accountId, from, today),
    managedSince(table, accountId, from),
  ]);
  const ips = [...managed, ...claimed].map((ip: OwnedIp) => {
    const { paid_until, last_day: last = "9999-12-31" } = ip;
    // For a forecast, an IP that is not ready yet becomes ready tomorrow.
    const charged = paid_until === undefined ? plusDays(today, 1 + dedicatedIpFirstDays) : dayOf(new Date(paid_until));
    return { ip, first: plusDays(charged, -dedicatedIpFirstDays), charged, last };
  });
  return {
    mailboxesOn,
    dedicatedIpsOn: (day) => ips.filter(({ charged, last }) => charged <= day && day <= last).length,
    hasDedicatedIpOn: (day) =>
      ips.some(({ ip, first, charged, last }) => first <= day && day <= last && (charged <= day || isPaidFor(ip, day))),
  };
}

/** The items and ranges that `times` calls of `usageOfDays` read for the days of this month. */
export function aheadOfUsage(accountId: string, times = 1): Required<Pick<Ahead, "keys" | "ranges">> {
  const today = dayOf(clock());
  const [first, last] = [sentKey(accountId, monthOf(today)), sentKey(accountId, plusDays(nextMonth(today), 31))];
  const counted = [mailboxesOf(accountId), deletedMailboxesOf(accountId)];
  // The heads of the two lists are read again, to compare them.
  const { keys = [] } = aheadOfLists([...counted, ...counted, ipsOf(accountId)]);
  const repeat = <T>(items: readonly T[]): T[] => Array.from({ length: times }, () => items).flat();
  const sent = { partition: first.PK, from: first.SK, to: last.SK };
  return { keys: repeat(keys), ranges: repeat([sent, rangeOfPastMailboxes(accountId, monthOf(today))]) };
}

/** Whether an account was neither suspended nor closed at the end of a day. */
const isServedOn = ({ account }: AccountBilling, day: Day): boolean =>
  ["active", "past_due"].includes(statusOn(account, day));

/**
 * The usage to charge for each day from `first` to `last`, with the VAT of the day. Today and each later day on a plan
 * have at least `mailsPerDay` sent mails. `mailsPerDay` is 0 unless future days are estimated.
 * - A day counts the mailboxes and managed dedicated IPs that existed on this day. Future days count the present ones.
 * - If the account was suspended or closed at the end of a day, only the sent mails of this day are charged, and only
 *   on a plan. The account may have sent these mails before it was suspended. If no mail was sent, the day is left out.
 * - On a day without a plan, only the managed dedicated IPs are charged, by the default plan. If no IP is charged, the
 *   day is left out.
 * - A day on a plan that needs a managed dedicated IP is charged by the default plan if the account has no IP that
 *   counts. In its first days, an IP counts only if its claim paid the price of the day's plan at least.
 */
export async function usageOfDays(
  table: Reader,
  book: AccountBilling,
  first: Day,
  last: Day,
  mailsPerDay = 0,
): Promise<Accrual[]> {
  const days = daysBetween(first, last);
  if (days.length === 0) return [];
  const today = dayOf(book.now);
  const { state, claimed } = book;
  const isPaidFor: IsPaidFor = (ip, day) => coversPlan(ip, planOn(state, day), book.account.currency);
  const usage = await readUsage(table, book.accountId, { from: first, today, claimed, isPaidFor });
  const { mailboxesOn, dedicatedIpsOn, hasDedicatedIpOn } = usage;
  const sent = await readSent(table, book.accountId, first, last);
  const used = days.flatMap((day): Accrual[] => {
    const plan_id = planOn(state, day);
    const sent_mails = sent.get(day) ?? 0;
    const lacksNeededIp = plan_id !== null && plans[plan_id].needsDedicatedIp && !hasDedicatedIpOn(day);
    const charged = { day, plan_id: plan_id === null || lacksNeededIp ? defaultPlan : plan_id };
    if (!isServedOn(book, day))
      return plan_id === null || sent_mails === 0 ? [] : [{ ...charged, mailboxes: 0, dedicated_ips: 0, sent_mails }];
    const dedicated_ips = dedicatedIpsOn(day);
    if (plan_id === null)
      return dedicated_ips === 0 ? [] : [{ ...charged, mailboxes: 0, dedicated_ips, sent_mails: 0 }];
    const mails = day < today ? sent_mails : Math.max(sent_mails, mailsPerDay);
    return [{ ...charged, mailboxes: mailboxesOn(day), dedicated_ips, sent_mails: mails }];
  });
  return used.map((accrual) => {
    const vat = vatRule(book.profile, accrual.day);
    return vat.treatment === "none" ? accrual : { ...accrual, vat };
  });
}

/**
 * Whether the claim of an IP paid at least the price that a dedicated IP had on a plan on the day of the claim. Also
 * true for an IP of an earlier version, which does not tell its price.
 */
const coversPlan = ({ created_at, first_days_price }: ClaimedIp, plan_id: PlanId | null, currency: string): boolean =>
  first_days_price === undefined ||
  plan_id === null ||
  first_days_price >= planAt(plan_id, dayOf(new Date(created_at)), currency).prices.dedicatedIp;

const Lifetime = z.object({ created_at: Timestamp, deleted_at: Timestamp });

/** The first and the last day on which a deleted mailbox existed. */
type DaysOfLife = { first: Day; last: Day };

/** The days of life of deleted mailboxes, from the rows of their list. */
const daysOf = async (rows: readonly object[]): Promise<DaysOfLife[]> =>
  rows.map((row) => {
    const { created_at, deleted_at } = Lifetime.parse(row);
    return { first: dayOf(new Date(created_at)), last: dayOf(new Date(deleted_at)) };
  });

/** How many deleted mailboxes one read returns. */
const pageSize = 500;

/** Returns a function that counts the mailboxes of a day. The day must be `from` or later. */
function countMailboxes(table: Reader, accountId: string, from: Day, today: Day): Promise<(day: Day) => number> {
  return atOneMoment(table, async (moment) => {
    const [existing, deleted] = await moment.open([
      { list: mailboxesOf(accountId), resolve: daysOf },
      { list: deletedMailboxesOf(accountId), resolve: daysOf },
    ]);
    if (!existing || !deleted) throw new Error("there is no head for a list");
    // `page` compares the heads of the two lists after this read. If they have changed, everything is read again. So no
    // purge and no creation falls between the reads.
    const [purged, created] = await Promise.all([
      readPastMailboxes(table, accountId, from),
      from < today ? createdAfter(table, accountId, from) : [],
    ]);
    const ended: DaysOfLife[] = [];
    // Deleted mailboxes are in the order of their deletion, the latest last.
    for (let isMore = true; isMore;) {
      const { rows } = await moment.page([deleted], ended.length, pageSize, "desc");
      ended.push(...rows);
      isMore = rows.length === pageSize && (ended.at(-1)?.last ?? "") >= from;
    }
    return (day) =>
      existing.total -
      created.filter((first) => day < first).length +
      ended.filter(({ first, last }) => first <= day && day <= last).length +
      sumOf(purged.filter(({ first_day, last_day }) => first_day <= day && day <= last_day).map(({ count }) => count));
  });
}

/** How many of the newest mailboxes are read first. Few mailboxes are created between a day and its daily run. */
const fewNewest = 10;

const Creation = z.object({ SK: z.string(), created_at: z.string() });

/**
 * The days of creation of the present mailboxes that were created after `day`. Reads the newest mailboxes first, and
 * stops when a page ends with a mailbox of `day` or an earlier day.
 */
async function createdAfter(table: Reader, accountId: string, day: Day): Promise<Day[]> {
  const { partition, from, to } = rangeOfRows(mailboxesOf(accountId));
  const created: Day[] = [];
  let before: string | undefined;
  for (let limit = fewNewest; ; limit = pageSize) {
    // The range includes `before`, which was read already.
    const options = { limit: limit + (before === undefined ? 0 : 1), newestFirst: true };
    const items = await table.between(partition, from, before ?? to, options);
    const rows = items.map((item) => Creation.parse(item)).filter(({ SK }) => SK !== before);
    const days = rows.map(({ created_at }) => dayOf(new Date(created_at)));
    created.push(...days.filter((first) => first > day));
    if (rows.length < limit || (days.at(-1) ?? "") <= day) return created;
    before = rows.at(-1)?.SK;
  }
}

/** A managed dedicated IP. `last_day` is its last day if it was removed. */
type OwnedIp = ClaimedIp & { last_day?: Day };

/** Reads the managed dedicated IPs of an account, with the IPs that were removed on the day `from` or later. */
async function managedSince(table: Reader, accountId: string, from: Day): Promise<OwnedIp[]> {
  const [ips] = await readHeads(table, [ipsOf(accountId)]);
  if (!ips || ips.next === 0) return [];
  const present = ips.live > 0 ? await managedIps(table, accountId) : [];
  // An IP that is removed between the two reads is in the results of both.
  const removed = await readPastIps(table, accountId, from);
  return [...present.filter(({ id }) => !removed.some((past) => past.id === id)), ...removed];
}

async function managedIps(table: Reader, accountId: string): Promise<StoredIp[]> {
  const { rows } = await readRows(table, ipsOf(accountId), { skip: 0, take: accountLimit });
  return rows.map((row) => StoredIp.parse(row)).filter(({ type }) => type === "managed");
}

/**
 * Counts the managed dedicated IPs of an account, whether they are ready or not. `unchanged` makes a transaction fail
 * if the account claims or deletes an IP meanwhile.
 */
export async function countManaged(table: Reader, accountId: string): Promise<{ count: number; unchanged: Write }> {
  const { state } = await readList(table, ipsOf(accountId));
  const ips = state.live === 0 ? [] : await managedIps(table, accountId);
  return { count: ips.length, unchanged: unchangedList(state) };
}
