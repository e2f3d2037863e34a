import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { dayMs, dayOf, plusDays, startOf } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { mailedKey } from "./target.ts";

/*
 * Access patterns
 *   the times of mails to an address, from all accounts       MAILED#<SHA-256 of the address> / MAILED
 *   the number of mails of an account on a day                ACCOUNT#<id> / LETTERS#<day>
 */
const lettersKey = (accountId: string, now: Date): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `LETTERS#${dayOf(now)}`,
});

/** The items that `mayMail` reads. */
export const aheadOfMail = (accountId: string, email: string, now: Date): Key[] => [
  mailedKey(email),
  lettersKey(accountId, now),
];

const pauseMs = 60_000;
const perTarget = 5;
const perAccount = 200;

/** The time until a mail may be sent, and the limit that forbids it earlier. */
export type Wait = { waitMs: number; limit: string };

const Mailed = z.object({ at: z.array(z.string()), version: z.int() });
const Letters = z.object({ count: z.int() });

/**
 * Returns the writes that count a mail to an address, or the time to wait in milliseconds. The limits:
 * - an address gets one mail a minute and five a day, from all accounts together,
 * - an account sends 200 mails a day.
 */
export async function mayMail(
  table: Reader,
  accountId: string,
  email: string,
  now: Date,
): Promise<{ notes: Write[] } | Wait> {
  const [key, day] = [mailedKey(email), lettersKey(accountId, now)];
  const [mailed, letters] = await Promise.all([table.get(key, Mailed), table.get(day, Letters)]);
  const { at, version } = mailed ?? { at: [], version: 0 };
  const nowMs = now.getTime();
  const today = at.filter((one) => Date.parse(one) > nowMs - dayMs);
  const forDay = waitFor(today.at(-perTarget), dayMs, nowMs);
  if (forDay > 0) return { waitMs: forDay, limit: `an address gets ${perTarget} mails in 24 hours at most` };
  const forPause = waitFor(today.at(-1), pauseMs, nowMs);
  if (forPause > 0) return { waitMs: forPause, limit: "an address gets one mail a minute at most" };
  const count = letters?.count ?? 0;
  const tomorrow = startOf(plusDays(dayOf(now), 1)).getTime();
  if (count >= perAccount)
    return { waitMs: tomorrow - nowMs, limit: `an account sends ${perAccount} mails a day at most` };
  const ttl = Math.ceil((nowMs + 2 * dayMs) / 1_000);
  return {
    notes: [
      {
        put: { ...key, at: [...today, now.toISOString()], version: version + 1, ttl },
        if: version === 0 ? "absent" : { version },
      },
      { put: { ...day, count: count + 1, ttl }, if: letters ? { count } : "absent" },
    ],
  };
}

/** The time left until `ms` milliseconds have passed since a given time; zero without one. */
const waitFor = (since: string | undefined, ms: number, nowMs: number): number =>
  since === undefined ? 0 : Date.parse(since) + ms - nowMs;

/** The 429 `rate_limited` for a mail above a limit. */
export function tooManyMails({ waitMs, limit }: Wait): Problem {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Problem("rate_limited", `No mail was sent, because ${limit}. Try again in ${retry_after} s.`, {
    retry_after,
  });
}
