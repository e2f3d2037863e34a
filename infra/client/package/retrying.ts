import { ConnectionError, retryAfterSecondsOf } from "./errors.ts";

export type RetryRules = {
  /** The most repeats of a request. */
  retries: number;
  /** The longest wait before a repeat. An answer with a longer `Retry-After` is returned at once. */
  longestWaitMs: number;
  /** Whether the request takes effect only once if it is sent twice: a GET, or a request with an idempotency key. */
  isSafeToRepeat: boolean;
  /** Ends the waits. */
  signal: AbortSignal | undefined;
};

/** Waits. If `signal` is aborted, throws its reason at once. */
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
 * Whether to repeat a request that got this answer:
 * - 429: yes, because the request had no effect.
 * - 502, 503, 504: if the request is safe to repeat.
 * - 409 with `Retry-After`: likewise. An earlier request with the same key is still running, and the repeat gets the
 *   answer of that request.
 */
const isWorthwhile = ({ status, headers }: Response, isSafeToRepeat: boolean): boolean =>
  status === 429 ||
  ((temporaryFailures.has(status) || (status === 409 && headers.has("retry-after"))) && isSafeToRepeat);

/** The wait before a repeat: half a second, doubled after each further failure, and varied at random. */
const backoffMs = (attempt: number): number => 500 * 2 ** attempt * (0.75 + Math.random() / 2);

/**
 * The wait after an answer with `Retry-After`, in milliseconds: as long as the answer asks for, plus a random part, so
 * that clients do not all return at once. The random part is at most 1, 2, 4 … times as long as the wait: it doubles
 * with each failure.
 */
const spreadMs = (askedMs: number, attempt: number): number => askedMs * (1 + Math.random() * 2 ** attempt);

/**
 * Sends a request, and repeats it after temporary failures: 429, 502, 503, 504, 409 while the first request still runs,
 * and no answer.
 * - Waits as long as `Retry-After` says and a random time more, but at most `longestWaitMs`.
 * - A request that is not safe to repeat is repeated only after a 429.
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
      if (askedMs !== undefined) waitMs = spreadMs(askedMs, attempt);
    } catch (error) {
      if (isLast || !isSafeToRepeat || !(error instanceof ConnectionError)) throw error;
    }
    await pause(Math.min(waitMs, longestWaitMs), signal);
  }
}
