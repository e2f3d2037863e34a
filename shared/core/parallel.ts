/**
 * Runs `run` for every item, at most `atOnce` at the same time, and answers what came of each in the order of the
 * items. One that throws does not end the others. Once `isOver` says so none is begun: what is left has no result.
 */
export async function inParallel<T, R>(
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
