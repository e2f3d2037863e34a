import * as z from "zod";

import { accountLimit, ipsOf, StoredIp } from "../dedicated-ips/dedicated-ip.ts";
import { mailboxesOf } from "../mailboxes/mailbox.ts";
import { readHeads, readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { dayOf, type Day } from "./days.ts";

/*
 * Access patterns
 *   what an account has that is paid by the day, beside its mailboxes   ACCOUNT#<id> / USAGE
 *   how many mails it sent on a day                                     ACCOUNT#<id> / SENT#<day>
 */
export const usageKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "USAGE" });
export const sentKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `SENT#${day}` });

const Usage = z.object({ mailboxes: z.int().min(0).default(0), dedicated_ips: z.int().min(0).default(0) });
const Sent = z.object({ count: z.int().min(0) });

export type UsageNow = { mailboxes: number; dedicatedIpsOn: (day: Day) => number };

/**
 * How many mailboxes and dedicated IPs an account has: its live mailboxes, the managed IPs whose days paid in advance
 * are over by a day, and what the operator counts besides (`usageKey`).
 */
export async function readUsage(table: Reader, accountId: string): Promise<UsageNow> {
  const [[mailboxes, ips], counted] = await Promise.all([
    readHeads(table, [mailboxesOf(accountId), ipsOf(accountId)]),
    table.get(usageKey(accountId), Usage),
  ]);
  const { mailboxes: more, dedicated_ips } = counted ?? { mailboxes: 0, dedicated_ips: 0 };
  const paidUntil = ips && ips.live > 0 ? await paidDays(table, accountId) : [];
  return {
    mailboxes: (mailboxes?.live ?? 0) + more,
    dedicatedIpsOn: (day) => dedicated_ips + paidUntil.filter((end) => end <= day).length,
  };
}

/** The first day of each managed IP that is not paid in advance: the day on which those end. */
async function paidDays(table: Reader, accountId: string): Promise<Day[]> {
  const { rows } = await readRows(table, ipsOf(accountId), { skip: 0, take: accountLimit });
  return rows.flatMap((row) => {
    const { paid_until } = StoredIp.parse(row);
    return paid_until === undefined ? [] : [dayOf(new Date(paid_until))];
  });
}

/** How many mails an account sent on each of the days from one to another, both included; days without any are not there. */
export async function readSent(table: Reader, accountId: string, from: Day, to: Day): Promise<Map<Day, number>> {
  const [first, last] = [sentKey(accountId, from), sentKey(accountId, to)];
  const items = await table.between(first.PK, first.SK, last.SK);
  return new Map(items.map((item) => [item.SK.slice("SENT#".length), Sent.parse(item).count]));
}
