/** A queue for each item that several callers want to use. Callers get an item in the order in which they asked. */
export type Turns = {
  /**
   * Waits until all earlier callers for any of these items are done, and returns the function that ends this turn;
   * undefined if that takes longer than `limitMs`. To prevent deadlocks, ask for all items at once, and hold nothing
   * while asking for items that others want.
   */
  take: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Takes a turn at items that nobody else uses or waits for; undefined if one of them is in use. */
  takeFree: (names: readonly string[]) => (() => void) | undefined;
  /** Returns those of the given items that are in use or waited for. */
  wanted: (names: readonly string[]) => string[];
};

/** Creates turns for the callers of this process. It forgets an item when nobody uses it or waits for it. */
export function newTurns(): Turns {
  /** The end of the last turn that was asked for, by item. */
  const ends = new Map<string, Promise<void>>();
  const beginOne = (name: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, promise);
    return () => {
      if (ends.get(name) === promise) ends.delete(name);
      resolve();
    };
  };
  const begin = (names: readonly string[]): (() => void) => {
    const all = [...new Set(names)].map(beginOne);
    return () => {
      for (const end of all) end();
    };
  };
  const wanted = (names: readonly string[]): string[] => names.filter((name) => ends.has(name));
  return {
    wanted,
    takeFree: (names) => (wanted(names).length > 0 ? undefined : begin(names)),
    take: async (names, limitMs) => {
      const places = [...new Set(names)].map((name) => ({ earlier: ends.get(name), end: beginOne(name) }));
      const earlier = Promise.all(places.flatMap((place) => place.earlier ?? []));
      const endAll = (): void => {
        for (const { end } of places) end();
      };
      if (await isWithin(limitMs, earlier)) return endAll;
      // Later callers still wait for each item until its earlier caller is done.
      for (const place of places) void Promise.resolve(place.earlier).then(place.end);
      return undefined;
    },
  };
}

async function isWithin(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), limitMs);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
