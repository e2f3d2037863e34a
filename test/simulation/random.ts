/** A source of random choices that makes the same ones again from the same seed. */
export type Random = {
  /** A whole number from 0 to `below − 1`. */
  below: (below: number) => number;
  /** A whole number between two, both included. */
  between: (from: number, to: number) => number;
  /** True this often, from 0 (never) to 1. */
  chance: (often: number) => boolean;
  pick: <T>(all: readonly T[]) => T;
  /** One of them, each as likely as its weight says. */
  weighted: <T extends { weight: number }>(all: readonly T[]) => T;
  shuffle: <T>(all: readonly T[]) => T[];
  /** A source of its own, so that what one does with it does not move the choices of another. */
  fork: () => Random;
};

/** By splitmix32: a 32-bit counter in steps of the golden ratio, hashed with MurmurHash3's finalizer. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let hash = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit);
  const pick = <T>(all: readonly T[]): T => {
    if (all.length === 0) throw new RangeError("There is nothing to pick from.");
    return all[below(all.length)] as T;
  };
  return {
    below,
    pick,
    between: (from, to) => from + below(to - from + 1),
    chance: (often) => next() / 2 ** 32 < often,
    weighted: (all) => weighted(all, below(all.reduce((sum, { weight }) => sum + weight, 0))),
    shuffle: (all) => shuffle(all, below),
    fork: () => createRandom(next()),
  };
}

function weighted<T extends { weight: number }>(all: readonly T[], place: number): T {
  let left = place;
  for (const one of all) {
    if (left < one.weight) return one;
    left -= one.weight;
  }
  throw new RangeError("There is nothing to pick from.");
}

/** Fisher and Yates. */
function shuffle<T>(all: readonly T[], below: (limit: number) => number): T[] {
  const shuffled = [...all];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = below(last + 1);
    [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
  }
  return shuffled;
}
