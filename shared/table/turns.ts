/** Turns at things that several want at once: at each of them, who asked first is first. */
export type Turns = {
  /**
   * Waits until all who asked before for any of these things are done, and answers what ends this turn; undefined when
   * that takes longer than `limitMs`. To ask for all at once, and to hold no turn while asking, keeps deadlocks out.
   */
  take: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Those of some things that somebody has a turn at, or waits for one. */
  wanted: (names: readonly string[]) => string[];
};

/** Turns among those who share this process; nothing is kept of things that nobody wants any more. */
export function newTurns(): Turns {
  /** When the last one who asked for a thing is done. */
  const ends = new Map<string, Promise<void>>();
  return {
    take: async (names, limitMs) => {
      const earlier = names.flatMap((name) => ends.get(name) ?? []);
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const name of names) ends.set(name, promise);
      const end = (): void => {
        for (const name of names) if (ends.get(name) === promise) ends.delete(name);
        resolve();
      };
      const ready = Promise.all(earlier);
      if (await isWithin(limitMs, ready)) return end;
      // Who asked later goes on waiting for those before.
      void ready.then(end);
      return undefined;
    },
    wanted: (names) => names.filter((name) => ends.has(name)),
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
