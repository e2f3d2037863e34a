export type Fetch = (request: Request) => Promise<Response>;

export type RetryOptions = {
  /** The most repeats of a request. */
  retries: number;
  /** The longest wait before a repeat. An answer with a longer `Retry-After` is returned to the caller at once. */
  longestWaitMs: number;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether a request is safe to send twice: a GET, or a request with an idempotency key. */
const isSafeToRepeat = ({ method, headers }: Request): boolean => method === "GET" || headers.has("idempotency-key");

/**
 * Whether to repeat a request that got this answer:
 * - 429: yes, because the request had no effect.
 * - 502, 503, 504: if the request is safe to repeat.
 * - 409 with `Retry-After`: likewise. An earlier request with the same key is still running, and the repeat gets the
 *   answer of that request.
 */
const isWorthwhile = (request: Request, { status, headers }: Response): boolean =>
  status === 429 ||
  ((temporaryFailures.has(status) || (status === 409 && headers.has("retry-after"))) && isSafeToRepeat(request));

const temporaryFailures = new Set([502, 503, 504]);

/** The wait before a repeat: half a second, doubled after each further failure, and varied at random. */
const backoffMs = (attempt: number): number => 500 * 2 ** attempt * (0.75 + Math.random() / 2);

/** The wait that `Retry-After` asks for, in milliseconds. */
function askedMsOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/**
 * The wait after an answer with `Retry-After`, in milliseconds: as long as the answer asks for, plus a random part, so
 * that clients do not all return at once. The random part is at most 1, 2, 4 … times what the answer asks for: it
 * doubles with each failure.
 */
const spreadMs = (askedMs: number, attempt: number): number => askedMs * (1 + Math.random() * 2 ** attempt);

/**
 * Repeats requests that failed temporarily: 429, 502, 503, 504, 409 while the first request still runs, and no answer.
 * - Waits as long as `Retry-After` says and a random time more, but at most `longestWaitMs`.
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
        if (isLast || (askedMs ?? 0) > longestWaitMs || !isWorthwhile(request, response)) return response;
        if (askedMs !== undefined) waitMs = spreadMs(askedMs, attempt);
        await response.body?.cancel();
      } catch (error) {
        if (isLast || request.signal.aborted || !isSafeToRepeat(request)) throw error;
      }
      await pause(Math.min(waitMs, longestWaitMs));
    }
  };
