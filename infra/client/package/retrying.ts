export type Fetch = (request: Request) => Promise<Response>;

export type RetryOptions = {
  /** The most repeats of a request. */
  retries: number;
  /** A longer wait is left to the caller: the answer is returned instead. */
  longestWaitMs: number;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether the same request sent twice takes effect once: a read, or a request with a key. */
const takesEffectOnce = ({ method, headers }: Request): boolean => method === "GET" || headers.has("idempotency-key");

/**
 * Whether a repeat is worthwhile. A request with a 429 had no effect; other failures allow only requests that are safe
 * to repeat. A 409 with `Retry-After` means that the first request with this key is still running; the repeat gets its
 * answer.
 */
const isWorthwhile = (request: Request, { status, headers }: Response): boolean =>
  status === 429 ||
  ((failures.has(status) || (status === 409 && headers.has("retry-after"))) && takesEffectOnce(request));

const failures = new Set([502, 503, 504]);

/** The wait before a repeat: half a second, doubled after each further failure, and varied at random. */
const backoffMs = (attempt: number): number => 500 * 2 ** attempt * (0.75 + Math.random() / 2);

/** The wait that `Retry-After` asks for, in milliseconds. */
function askedMsOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/**
 * Clients that got the same wait must not all return at once: each adds up to that wait again, and up to twice as much
 * the next time.
 */
const spreadMs = (askedMs: number, attempt: number): number => askedMs * (1 + Math.random() * 2 ** attempt);

/**
 * Repeats requests that failed for the moment: 429, 502, 503, 504, 409 while the first request still runs, and requests
 * without an answer.
 * - It waits as long as `Retry-After` says, and a random time more.
 * - A request that changes something is repeated only with an `Idempotency-Key`, or after a 429.
 */
export const retrying =
  (fetch: Fetch, { retries, longestWaitMs }: RetryOptions): Fetch =>
  async (request) => {
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= retries;
      let waitMs = backoffMs(attempt);
      try {
        const response = await fetch(isLast ? request : request.clone());
        const askedMs = askedMsOf(response);
        if (isLast || (askedMs ?? waitMs) > longestWaitMs || !isWorthwhile(request, response)) return response;
        if (askedMs !== undefined) waitMs = spreadMs(askedMs, attempt);
        await response.body?.cancel();
      } catch (error) {
        if (isLast || request.signal.aborted || !takesEffectOnce(request)) throw error;
      }
      await pause(waitMs);
    }
  };
