const wait = (longestMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));

/** Full jitter: waits up to 5 ms, doubling to 320 ms, so that a burst of callers spreads out. */
export const backOff = (attempt: number): Promise<void> => wait(5 * 2 ** Math.min(attempt, 6));

/**
 * Full jitter, up to 5 ms, doubling to 640 ms; and the less the more of `limitMs` is over, so that who has waited long
 * goes before who came just now.
 */
export const fairBackOff = (attempt: number, waitedMs: number, limitMs: number): Promise<void> =>
  wait(5 * 2 ** Math.min(attempt, 7) * Math.max(0.02, 1 - waitedMs / limitMs));
