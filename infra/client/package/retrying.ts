import { ConnectionError, retryAfterSecondsOf } from "./errors.ts";

export type RetryRules = {
  /** The largest number of repeats of a request. */
  retries: number;
  /** The longest wait before a repeat, in milliseconds. An answer with a longer `Retry-After` is returned at once. */
  longestWaitMs: number;
  /**
   * Whether the request may be sent twice, because a repeat has no further effect: a GET, a request with an idempotency
   * key, or a program with a `request_id`.
   */
  isSafeToRepeat: boolean;
  /** If this signal is aborted during a wait, the wait ends. */
  signal: AbortSignal | undefined;
};

/** Waits for a number of milliseconds. If `signal` is aborted, throws its reason at once. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

const temporaryFailures = new Set([502, 503, 504]);

/**
 * Whether to repeat the request after this answer:
 * - 429: yes, because the request had no effect.
 * - 502, 503, 504: yes, if the request is safe to repeat.
 * - 409 with `Retry-After`: yes, if the request is safe to repeat. An earlier request with the same key is still
 *   running. The repeat gets the answer of the earlier request.
 */
const isWorthwhile = ({ status, headers }: Response, isSafeToRepeat: boolean): boolean =>
  status === 429 ||
  ((temporaryFailures.has(status) || (status === 409 && headers.has("retry-after"))) && isSafeToRepeat);

/**
 * The wait before a repeat, in milliseconds: 500 × 2^`attempt`, varied at random by up to a quarter. `attempt` is 0
 * after the first failure.
 */
const backoffMs = (attempt: number): number => 500 * 2 ** attempt * (0.75 + Math.random() / 2);

/**
 * The wait after an answer with `Retry-After`, in milliseconds: the time in the answer, plus a random time. Because of
 * the random time, clients do not all return at once. After the first failure, the random time is at most as long as
 * the time in the answer. This limit doubles after each further failure.
 */
const spreadMs = (askedMs: number, attempt: number): number => askedMs * (1 + Math.random() * 2 ** attempt);

/**
 * Sends a request, and repeats it after temporary failures: no answer, 429, 502, 503, 504, and 409 while an earlier
 * request with the same key still runs.
 * - Waits for the time in `Retry-After` plus a random time, but at most `longestWaitMs`.
 * - After a 429, repeats any request. After another failure, repeats only a request that is safe to repeat.
 * - Never repeats a request that was aborted.
 */
export async function retrying<Answer extends { response: Response }>(
  send: () => Promise<Answer>,
  { retries, longestWaitMs, isSafeToRepeat, signal }: RetryRules,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt >= retries;
    let waitMs = backoffMs(attempt);
    try {
      const answer = await send();
      const askedSeconds = retryAfterSecondsOf(answer.response, Date.now());
      const askedMs = askedSeconds === undefined ? undefined : askedSeconds * 1000;
      if (isLast || (askedMs ?? 0) > longestWaitMs || !isWorthwhile(answer.response, isSafeToRepeat)) return answer;
      if (askedMs !== undefined) waitMs = Math.max(waitMs, spreadMs(askedMs, attempt));
    } catch (error) {
      if (isLast || !isSafeToRepeat || !(error instanceof ConnectionError)) throw error;
    }
    await pause(Math.min(waitMs, longestWaitMs), signal);
  }
}
