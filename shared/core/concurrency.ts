/**
 * Calls `run` for every item, at most `atOnce` at the same time, and returns the settled results in the order of the
 * items.
 * - An item that fails does not stop the others.
 * - Once `isOver` returns true no further item is started; an item that was not started has no result.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  atOnce: number,
  run: (item: T) => Promise<R>,
  isOver: () => boolean = () => false,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const waiting = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (isOver()) return;
      const [result] = await Promise.allSettled([run(item)]);
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results.filter((result) => result !== undefined);
}

/**
 * Interleaves items by key: the first item of every key, then the second of every key, and so on. Items of one key keep
 * their order.
 */
export function roundRobin<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const places = new Map<string, number>();
  const placed = items.map((item) => {
    const key = keyOf(item);
    const place = places.get(key) ?? 0;
    places.set(key, place + 1);
    return { item, place };
  });
  return placed.toSorted((a, b) => a.place - b.place).map(({ item }) => item);
}

/** Cuts a list into consecutive groups of at most `size`. */
export const chunk = <T>(size: number, items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
