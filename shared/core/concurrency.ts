/**
 * Calls `run` for every item, at most `atOnce` at the same time, and returns the settled results in the order of the
 * items.
 * - An item that fails does not stop the other items.
 * - When `isOver` returns true, no further item is started. An item that was not started has no result.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  atOnce: number,
  run: (item: T) => Promise<R>,
  isOver: () => boolean = () => false,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  // All calls of `runWaiting` share this iterator, so each item is taken once.
  const waiting = items.entries();
  const runWaiting = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (isOver()) return;
      const [result] = await Promise.allSettled([run(item)]);
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runWaiting));
  return results.filter((result) => result !== undefined);
}

/** The values of settled results, in their order. Throws the first reason if a result was rejected. */
export const allFulfilled = <T>(results: readonly PromiseSettledResult<T>[]): T[] =>
  results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });

/**
 * Interleaves items by key: the first item of every key, then the second of every key, and so on. Items of one key keep
 * their order.
 */
export function roundRobin<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const counts = new Map<string, number>();
  const withRounds = items.map((item) => {
    const key = keyOf(item);
    const round = counts.get(key) ?? 0;
    counts.set(key, round + 1);
    return { item, round };
  });
  return withRounds.toSorted((a, b) => a.round - b.round).map(({ item }) => item);
}

/** Cuts a list into consecutive groups of at most `size`. */
export const chunk = <T>(size: number, items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
