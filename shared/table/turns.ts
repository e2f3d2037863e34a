/** Turns at things that several want at once: at each of them, who asked first is first. */
export type Turns = {
  /**
   * Waits until all who asked before for any of these things are done, and answers what ends this turn; undefined when
   * that takes longer than `limitMs`. Deadlocks are kept out by asking for all at once, and by holding nothing while
   * asking for what others want.
   */
  take: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Takes a turn at things that nobody wants; undefined when somebody does. */
  takeFree: (names: readonly string[]) => (() => void) | undefined;
  /** Those of some things that somebody has a turn at, or waits for one. */
  wanted: (names: readonly string[]) => string[];
};

/** Turns among those who share this process; nothing is kept of things that nobody wants any more. */
export function newTurns(): Turns {
  /** When the last one who asked for a thing is done. */
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
      // Later callers go on waiting for each thing until the earlier caller is done with it.
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
