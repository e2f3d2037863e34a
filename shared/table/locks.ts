/**
 * Locks of items, by name. Callers get the lock of an item in the order in which they asked for it. A transaction locks
 * the items that it changes under a condition on their attributes. Without the locks, concurrent transactions that
 * change the same item would make each other fail.
 */
export type Locks = {
  /**
   * Waits for the locks of all these items, and returns the function that releases the locks. Returns undefined if the
   * wait takes longer than `limitMs` milliseconds. To prevent deadlocks, ask for all items at once, and hold no lock
   * while you wait.
   */
  acquire: (names: readonly string[], limitMs: number) => Promise<(() => void) | undefined>;
  /** Locks items without waiting; undefined if an item is locked. */
  tryAcquire: (names: readonly string[]) => (() => void) | undefined;
  /** Returns those of the items that are locked. */
  locked: (names: readonly string[]) => string[];
};

/** Creates locks for the callers of this process. */
export function newLocks(): Locks {
  /** By item, a promise that resolves when the last caller has released the lock of the item. */
  const lastReleases = new Map<string, Promise<void>>();
  const enqueue = (name: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lastReleases.set(name, promise);
    return () => {
      if (lastReleases.get(name) === promise) lastReleases.delete(name);
      resolve();
    };
  };
  const lockFree = (names: readonly string[]): (() => void) => {
    const releases = [...new Set(names)].map(enqueue);
    return () => {
      for (const release of releases) release();
    };
  };
  const locked = (names: readonly string[]): string[] => names.filter((name) => lastReleases.has(name));
  return {
    locked,
    tryAcquire: (names) => (locked(names).length > 0 ? undefined : lockFree(names)),
    acquire: async (names, limitMs) => {
      const tickets = [...new Set(names)].map((name) => ({
        earlier: lastReleases.get(name),
        release: enqueue(name),
      }));
      const allEarlier = Promise.all(tickets.flatMap(({ earlier }) => earlier ?? []));
      const releaseAll = (): void => {
        for (const { release } of tickets) release();
      };
      if (await endsWithin(limitMs, allEarlier)) return releaseAll;
      // A later caller of an item waits only for this caller's release. So this release must come after the release of
      // the earlier caller.
      for (const { earlier, release } of tickets) void Promise.resolve(earlier).then(release);
      return undefined;
    },
  };
}

async function endsWithin(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), limitMs);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
