import * as z from "zod";

import { type Day, Timestamp, dayOf, daysBetween, plusDays, startOf } from "../core/time.ts";
import { readStatistics } from "../statistics/statistics.ts";
import type { Reader } from "../table/table.ts";
import type { StoredIp } from "./dedicated-ip.ts";

/**
 * How many mails a new managed dedicated IP may send on each of its first days. A mail counts once for each of its
 * recipients. Receivers distrust an address that suddenly sends much, so the limit grows slowly. After the last day
 * there is no limit.
 */
export const warmUpLimits = [
  50, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_500,
  15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000,
] as const;

export const WarmUp = z
  .object({
    day: z.int().min(1).meta({ description: "Which day of the warm-up today is, from 1." }),
    days: z.int().meta({ description: "The number of days of the whole warm-up." }),
    daily_limit: z.int().meta({
      description:
        "The largest number of mails that can leave from the dedicated IP today. A mail counts once for each of its recipients. Further mails are refused.",
    }),
    sent_today: z.int().min(0).meta({
      description: "The mails that left from the dedicated IP today, as far as the mail servers have reported them.",
    }),
    ends_at: Timestamp.meta({ description: "When the warm-up ends. From then on there is no limit." }),
  })
  .meta({
    id: "WarmUp",
    description: "The warm-up of a new managed dedicated IP. It begins on the UTC day on which the IP becomes active.",
  });
export type WarmUp = z.output<typeof WarmUp>;

/** A day of a warm-up, with the limit for this day. */
export type WarmUpDay = Omit<WarmUp, "sent_today">;

/**
 * The day of a dedicated IP's warm-up at the time `now`. Undefined if the dedicated IP has no limit. The reason can be
 * that:
 * - the warm-up is over, or has not begun;
 * - the dedicated IP is a customer's own host;
 * - an earlier version activated the dedicated IP without a warm-up.
 */
export function warmUpDay({ activated_at }: Pick<StoredIp, "activated_at">, now: Date): WarmUpDay | undefined {
  if (activated_at === undefined) return undefined;
  const first = dayOf(new Date(activated_at));
  const day = daysBetween(first, dayOf(now)).length;
  const daily_limit = warmUpLimits[day - 1];
  const ends_at = startOf(plusDays(first, warmUpLimits.length)).toISOString();
  return daily_limit === undefined ? undefined : { day, days: warmUpLimits.length, daily_limit, ends_at };
}

/**
 * Like `warmUpDay`, with the number of mails that have left from the dedicated IP today. Makes one query, and none if
 * there is no warm-up. Mail servers report sent mail in batches, so the number may be some minutes old.
 */
export async function readWarmUp(
  table: Reader,
  ip: Pick<StoredIp, "account_id" | "id" | "activated_at">,
  now: Date,
): Promise<WarmUp | undefined> {
  const warmUp = warmUpDay(ip, now);
  if (!warmUp) return undefined;
  const today: Day = dayOf(now);
  const days = await readStatistics(table, ip.account_id, { type: "dedicated_ip", id: ip.id }, today, today);
  return { ...warmUp, sent_today: days.get(today)?.sent ?? 0 };
}
