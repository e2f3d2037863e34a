import type { Context } from "./route.ts";

/**
 * A request of several transactions begins no further transaction after this time, in milliseconds. The gateway waits
 * for 29 seconds, and a transaction can take some seconds when many requests change the same lists.
 */
const budgetMs = 18_000;

/**
 * Begins to measure the time of a request of several transactions. The returned function returns true if the request
 * must not begin another transaction, because its time is over or the time `stopAt` has come.
 */
export function startTimer({ now, stopAt }: Pick<Context, "now" | "stopAt">): () => boolean {
  const startedMs = performance.now();
  return () => performance.now() - startedMs >= budgetMs || (stopAt !== undefined && now() >= stopAt);
}
