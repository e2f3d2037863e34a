import * as z from "zod";

import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * When a webhook last had a success, and since when it has been failing: written once a minute or when that changes,
 * not with every attempt. It is read before it is written, so that of attempts at the same time either may be the
 * last word; the next one puts it right.
 */
export const successKey = (accountId: string, webhookId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `WEBHOOK_SUCCESS#${webhookId}`,
});

const betweenMs = 60_000;
/** Longer than any delivery is tried: an older success says no more than none. */
const keptSeconds = 40 * 86_400;

const Success = z.object({ last_success_at: z.string().optional(), failing_since: z.string().optional() });
type Place = { account_id: string; webhook_id: string };

const read = (table: Reader, { account_id, webhook_id }: Place) =>
  table.get(successKey(account_id, webhook_id), Success);

const ttlFrom = (now: Date): number => Math.ceil(now.getTime() / 1_000) + keptSeconds;

/** The write that notes a success of a webhook, which is failing no more. */
export const successWrite = ({ account_id, webhook_id }: Place, now: Date): Write => ({
  update: successKey(account_id, webhook_id),
  set: { last_success_at: now.toISOString(), ttl: ttlFrom(now) },
  remove: ["failing_since"],
});

/** Notes a success, unless one was noted within the last minute and nothing failed since. */
export async function noteSuccess(table: Table, place: Place, now: Date): Promise<void> {
  const success = await read(table, place);
  const atMost = new Date(now.getTime() - betweenMs).toISOString();
  const isNoted = success?.last_success_at !== undefined && success.last_success_at > atMost;
  if (!isNoted || success.failing_since !== undefined) await table.attempt(successWrite(place, now));
}

/** Notes that a webhook is failing, unless it was already. */
export async function noteFailure(table: Table, place: Place, now: Date): Promise<void> {
  const success = await read(table, place);
  if (success?.failing_since !== undefined) return;
  const update = successKey(place.account_id, place.webhook_id);
  await table.attempt({ update, set: { failing_since: now.toISOString(), ttl: ttlFrom(now) } });
}

/** Whether a success was noted at an instant or later. */
export async function hasSucceededSince(table: Reader, place: Place, since: string): Promise<boolean> {
  const { last_success_at } = (await read(table, place)) ?? {};
  return last_success_at !== undefined && last_success_at >= since;
}

/** The ids of those of some different webhooks whose last attempt, as far as it was noted, failed. */
export async function failingAmong(table: Reader, places: readonly Place[]): Promise<Set<string>> {
  const rows = await table.getMany(places.map(({ account_id, webhook_id }) => successKey(account_id, webhook_id)));
  const isFailing = (index: number): boolean => rows[index]?.["failing_since"] !== undefined;
  return new Set(places.flatMap(({ webhook_id }, index) => (isFailing(index) ? [webhook_id] : [])));
}
