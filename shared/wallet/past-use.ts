import * as z from "zod";

import { Day, dayMs, dayOf, startOf, Timestamp } from "../core/time.ts";
import type { Range } from "../table/reads.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { BillingState, stateKey } from "./state.ts";

/*
 * Past use tells the billing about purged mailboxes and removed managed dedicated IPs, because some of their days may
 * not be recorded yet. The transaction of the removal also writes the past use. An item is kept for 60 days. Purged
 * mailboxes with the same first and last day share one item. An IP that was never ready has no item.
 *
 * Access patterns
 *   purged mailboxes, by their last day               ACCOUNT#<id> / PAST_MAILBOXES#<last day>#<first day>
 *   removed managed dedicated IPs, by their last day  ACCOUNT#<id> / PAST_IP#<last day>#<IP>
 */
const mailboxesKey = (accountId: string, last: Day, first = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `PAST_MAILBOXES#${last}#${first}`,
});
const ipKey = (accountId: string, last: Day, id = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `PAST_IP#${last}#${id}`,
});

/** Sorts after every day. */
const afterAllDays = "~";

/** How long past use is kept after its last day, in milliseconds. The daily billing run is never this late. */
const pastKeptMs = 60 * dayMs;

const ttlOf = (last: Day): number => Math.ceil((startOf(last).getTime() + pastKeptMs) / 1_000);

const PastMailboxes = z.object({ first_day: Day, last_day: Day, count: z.int() });
type PastMailboxes = z.output<typeof PastMailboxes>;

/** Plans the past use of a mailbox that is purged. Plans nothing if the day of the mailbox's deletion is recorded. */
export async function pastMailboxWrites(
  table: Reader,
  accountId: string,
  { created_at, deleted_at }: { created_at: string; deleted_at: string },
): Promise<Write[]> {
  const [first_day, last_day] = [dayOf(new Date(created_at)), dayOf(new Date(deleted_at))];
  const state = await table.get(stateKey(accountId), BillingState.pick({ accrue_from: true }));
  // The write needs no condition on the state. A recorded day stays recorded. If the day is recorded only after this
  // read, the item is superfluous but does no harm, because the billing reads only the past use of unrecorded days.
  if (state && last_day < state.accrue_from) return [];
  const set = { first_day, last_day, ttl: ttlOf(last_day) };
  return [{ update: mailboxesKey(accountId, last_day, first_day), set, add: { count: 1 } }];
}

/** The range of the purged mailboxes that existed on a day or later. */
export const rangeOfPastMailboxes = (accountId: string, from: Day): Range => {
  const [first, last] = [mailboxesKey(accountId, from), mailboxesKey(accountId, afterAllDays)];
  return { partition: first.PK, from: first.SK, to: last.SK };
};

/** Reads the purged mailboxes that existed on a day or later. */
export async function readPastMailboxes(table: Reader, accountId: string, day: Day): Promise<PastMailboxes[]> {
  const { partition, from, to } = rangeOfPastMailboxes(accountId, day);
  return (await table.between(partition, from, to)).map((item) => PastMailboxes.parse(item));
}

const PastIp = z.object({
  id: z.string(),
  created_at: Timestamp,
  paid_until: Timestamp.optional(),
  first_days_price: z.int().optional(),
  last_day: Day,
});
type PastIp = z.output<typeof PastIp>;

/** The write that stores the past use of a managed dedicated IP that is removed. */
export function pastIpWrite(
  accountId: string,
  { id, created_at, paid_until, first_days_price }: Omit<PastIp, "last_day">,
  now: Date,
): Write {
  const last_day = dayOf(now);
  const past: PastIp = { id, created_at, paid_until, first_days_price, last_day };
  return { put: { ...ipKey(accountId, last_day, id), ...past, ttl: ttlOf(last_day) } };
}

/** Reads the removed managed dedicated IPs that existed on a day or later. */
export async function readPastIps(table: Reader, accountId: string, day: Day): Promise<PastIp[]> {
  const [first, last] = [ipKey(accountId, day), ipKey(accountId, afterAllDays)];
  return (await table.between(first.PK, first.SK, last.SK)).map((item) => PastIp.parse(item));
}
