import * as z from "zod";

import { Problem } from "../errors.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { mailedKey } from "./target.ts";

/*
 * Access patterns
 *   when mails were sent to an address, by all accounts   MAILED#<SHA-256 of the address> / MAILED
 */
const pauseMs = 60_000;
const dayMs = 86_400_000;
const perDay = 5;

const Mailed = z.object({ at: z.array(z.string()), version: z.int() });

/** Whether an address may be mailed to now, and the write that notes that it is; else when it may be, in milliseconds. */
export async function mayMail(table: Reader, email: string, now: Date): Promise<{ note: Write } | { waitMs: number }> {
  const key = mailedKey(email);
  const { at, version } = (await table.get(key, Mailed)) ?? { at: [], version: 0 };
  const nowMs = now.getTime();
  const today = at.filter((one) => Date.parse(one) > nowMs - dayMs);
  const last = today.at(-1);
  const afterPause = last === undefined ? 0 : Date.parse(last) + pauseMs - nowMs;
  const first = today.at(-perDay);
  const afterDay = first === undefined ? 0 : Date.parse(first) + dayMs - nowMs;
  const waitMs = Math.max(afterPause, afterDay);
  if (waitMs > 0) return { waitMs };
  const put = {
    ...key,
    at: [...today, now.toISOString()],
    version: version + 1,
    ttl: Math.ceil((nowMs + 2 * dayMs) / 1_000),
  };
  return { note: { put, if: version === 0 ? "absent" : { version } } };
}

/** 429: an address gets a mail a minute at most, and five a day, whoever asks for them. */
export function tooManyMails(waitMs: number): Problem {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Problem(
    "rate_limited",
    `This address has been written to enough: one mail a minute, and ${perDay} a day. Try again in ${retry_after} s.`,
    { retry_after },
  );
}
