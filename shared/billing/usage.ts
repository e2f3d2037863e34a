import * as z from "zod";

import { dayOf, type Day } from "../core/time.ts";
import { accountLimit, ipsOf, StoredIp } from "../dedicated-ips/dedicated-ip.ts";
import { mailboxesOf } from "../mail/mailboxes/mailbox.ts";
import { readHeads, readList, readRows, unchangedList } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * Access patterns
 *   how many mails an account sent on a day   ACCOUNT#<id> / SENT#<day>
 */
export const sentKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `SENT#${day}` });

const Sent = z.object({ count: z.int().min(0) });

export type UsageNow = { mailboxes: number; dedicatedIpsOn: (day: Day) => number };

/**
 * Reads the usage of an account: the number of its mailboxes, and a function that counts the managed IPs to charge on a
 * day. An IP is charged once its prepaid days have ended.
 */
export async function readUsage(table: Reader, accountId: string): Promise<UsageNow> {
  const [mailboxes, ips] = await readHeads(table, [mailboxesOf(accountId), ipsOf(accountId)]);
  // The first day on which each IP is charged: the day on which its prepaid time ends.
  const chargedFrom = (ips && ips.live > 0 ? await managedIps(table, accountId) : []).flatMap(({ paid_until }) =>
    paid_until === undefined ? [] : [dayOf(new Date(paid_until))],
  );
  return {
    mailboxes: mailboxes?.live ?? 0,
    dedicatedIpsOn: (day) => chargedFrom.filter((first) => first <= day).length,
  };
}

async function managedIps(table: Reader, accountId: string): Promise<StoredIp[]> {
  const { rows } = await readRows(table, ipsOf(accountId), { skip: 0, take: accountLimit });
  return rows.map((row) => StoredIp.parse(row)).filter(({ type }) => type === "managed");
}

/**
 * Counts the managed IPs of an account, ready or not. `unchanged` fails a transaction if the account claims another
 * one.
 */
export async function countManaged(table: Reader, accountId: string): Promise<{ count: number; unchanged: Write }> {
  const { state } = await readList(table, ipsOf(accountId));
  const ips = state.live === 0 ? [] : await managedIps(table, accountId);
  return { count: ips.length, unchanged: unchangedList(state) };
}

/**
 * Reads how many mails an account sent on each day from `from` to `to`, both included. Days without any are left out.
 */
export async function readSent(table: Reader, accountId: string, from: Day, to: Day): Promise<Map<Day, number>> {
  const [first, last] = [sentKey(accountId, from), sentKey(accountId, to)];
  const items = await table.between(first.PK, first.SK, last.SK);
  return new Map(items.map((item) => [item.SK.slice("SENT#".length), Sent.parse(item).count]));
}
