export type Fetch = (request: Request) => Promise<Response>;

export type RetryOptions = {
  /** How often a request is sent again, at most. */
  retries: number;
  /** Longer waits than this are left to the caller. */
  longestWaitMs: number;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether the same request twice has one effect: a read, or one with a key. */
const takesEffectOnce = ({ method, headers }: Request): boolean => method === "GET" || headers.has("idempotency-key");

/**
 * 429 has done nothing; of another failure one knows only that a repeat does no harm. A 409 that says when to come back is
 * about a first request with this key that still runs: its answer is what the repeat gets.
 */
const isWorthwhile = (request: Request, { status, headers }: Response): boolean =>
  status === 429 ||
  ((failures.has(status) || (status === 409 && headers.has("retry-after"))) && takesEffectOnce(request));

const failures = new Set([502, 503, 504]);

/** Half a second after the first failure, twice as long after each further one, and a little of chance. */
const backoffMs = (attempt: number): number => 500 * 2 ** attempt * (0.75 + Math.random() / 2);

/** What `Retry-After` says, in milliseconds. */
function askedMsOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** Many that are told the same time do not all come back at it: each waits up to as long again, twice that the next time. */
const spreadMs = (askedMs: number, attempt: number): number => askedMs * (1 + Math.random() * 2 ** attempt);

/**
 * Sends again what was refused or failed for now (429, 502, 503, 504, and 409 while the first still runs), after as long as
 * `Retry-After` says and a little of chance, and what found no answer at all;
 * but of requests that change something only those with an `Idempotency-Key`, apart from 429.
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
