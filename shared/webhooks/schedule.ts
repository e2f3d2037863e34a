/** What the n-th failed attempt is followed by: ten attempts over some 75 hours, as Standard Webhooks recommends. */
const waitsMinutes = [1, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
const jitter = 0.1;
const longestSeconds = 86_400;

export const attemptLimit = waitsMinutes.length + 1;

/**
 * When to try again after the failed attempt of this number (from 1); undefined when it was the last one. The
 * waits are spread by ±10 %, and no shorter than the receiver asked for, up to a day. `random` is in [0, 1).
 */
export function nextAttempt(
  attempt: number,
  now: Date,
  retryAfterSeconds = 0,
  random: () => number = Math.random,
): Date | undefined {
  const waitMinutes = waitsMinutes[attempt - 1];
  if (waitMinutes === undefined) return undefined;
  const waitSeconds = waitMinutes * 60 * (1 - jitter + 2 * jitter * random());
  const seconds = Math.max(waitSeconds, Math.min(retryAfterSeconds, longestSeconds));
  return new Date(now.getTime() + Math.round(seconds * 1_000));
}

const longestRetryAfterSeconds = 86_400;
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How long a `Retry-After` asks to wait, at most a day: seconds or a date (RFC 9110, section 10.2.3, of the
 * dates only IMF-fixdate). Undefined when it says nothing that reads.
 */
export function readRetryAfterSeconds(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : httpDate.test(text)
      ? Math.ceil((Date.parse(text) - now.getTime()) / 1_000)
      : Number.NaN;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), longestRetryAfterSeconds);
}
