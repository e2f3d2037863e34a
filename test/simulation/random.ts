/** A source of random choices. The same seed makes the same choices again. */
export type Random = {
  /** A whole number from 0 to `below − 1`. */
  below: (below: number) => number;
  /** A whole number between two numbers, both included. */
  between: (from: number, to: number) => number;
  /** True with this probability, from 0 (never) to 1 (always). */
  chance: (often: number) => boolean;
  pick: <T>(all: readonly T[]) => T;
  /** One element. The probability of each follows its weight. */
  weighted: <T extends { weight: number }>(all: readonly T[]) => T;
  shuffle: <T>(all: readonly T[]) => T[];
  /** Another source. Its choices do not move the choices of this one. */
  fork: () => Random;
};

/** The generator splitmix32: a 32-bit counter in steps of the golden ratio, hashed with MurmurHash3's finalizer. */
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

/** The shuffle of Fisher and Yates. */
function shuffle<T>(all: readonly T[], below: (limit: number) => number): T[] {
  const shuffled = [...all];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = below(last + 1);
    [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
  }
  return shuffled;
}
