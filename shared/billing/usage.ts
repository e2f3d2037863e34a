import * as z from "zod";

import { mailboxesOf } from "../mailboxes/mailbox.ts";
import { readHeads } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import type { Day } from "./days.ts";

/*
 * Access patterns
 *   what an account has that is paid by the day, beside its mailboxes   ACCOUNT#<id> / USAGE
 *   how many mails it sent on a day                                     ACCOUNT#<id> / SENT#<day>
 */
export const usageKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "USAGE" });
export const sentKey = (accountId: string, day: Day): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `SENT#${day}` });

const Usage = z.object({ mailboxes: z.int().min(0).default(0), dedicated_ips: z.int().min(0).default(0) });
const Sent = z.object({ count: z.int().min(0) });

export type UsageNow = z.output<typeof Usage>;

/**
 * How many mailboxes and dedicated IPs an account has: its live mailboxes, and what the operator or the transactions
 * that add and remove IPs count besides (`add` on `usageKey`).
 */
export async function readUsage(table: Reader, accountId: string): Promise<UsageNow> {
  const [[mailboxes], counted] = await Promise.all([
    readHeads(table, [mailboxesOf(accountId)]),
    table.get(usageKey(accountId), Usage),
  ]);
  const { mailboxes: more, dedicated_ips } = counted ?? { mailboxes: 0, dedicated_ips: 0 };
  return { mailboxes: (mailboxes?.live ?? 0) + more, dedicated_ips };
}

/** How many mails an account sent on each of the days from one to another, both included; days without any are not there. */
export async function readSent(table: Reader, accountId: string, from: Day, to: Day): Promise<Map<Day, number>> {
  const [first, last] = [sentKey(accountId, from), sentKey(accountId, to)];
  const items = await table.between(first.PK, first.SK, last.SK);
  return new Map(items.map((item) => [item.SK.slice("SENT#".length), Sent.parse(item).count]));
}
