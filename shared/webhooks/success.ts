import * as z from "zod";

import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

export const successKey = (accountId: string, webhookId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `WEBHOOK_SUCCESS#${webhookId}`,
});

const betweenMs = 60_000;
/** Longer than any delivery is tried: an older success says no more than none. */
const keptSeconds = 40 * 86_400;

const Success = z.object({ last_success_at: z.string() });
type Place = { account_id: string; webhook_id: string };

/** The write that notes a success of a webhook. */
export const successWrite = ({ account_id, webhook_id }: Place, now: Date): Write => ({
  update: successKey(account_id, webhook_id),
  set: { last_success_at: now.toISOString(), ttl: Math.ceil(now.getTime() / 1_000) + keptSeconds },
});

/** Notes a success, unless one was noted within the last minute. */
export async function noteSuccess(table: Table, place: Place, now: Date): Promise<void> {
  const atMost = new Date(now.getTime() - betweenMs).toISOString();
  await table.attempt({ ...successWrite(place, now), if: { absentOr: { last_success_at: { atMost } } } });
}

/** Whether a success was noted at an instant or later. */
export async function hasSucceededSince(table: Reader, place: Place, since: string): Promise<boolean> {
  const success = await table.get(successKey(place.account_id, place.webhook_id), Success);
  return success !== undefined && success.last_success_at >= since;
}
