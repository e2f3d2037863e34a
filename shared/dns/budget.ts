/** What one question may cost, shared by all that is asked for it. */
export type Budget = {
  /** Takes one query out of it; false when there is none left, or no time. */
  take: () => boolean;
  remainingMs: () => number;
  /** What there is no more of. */
  lacks: () => "queries" | "time" | undefined;
};

/** A budget whose time begins now. */
export function openBudget(timeoutMs: number, maxQueries: number): Budget {
  const endsAtMs = performance.now() + timeoutMs;
  let left = maxQueries;
  const remainingMs = (): number => Math.max(0, endsAtMs - performance.now());
  const lacks = (): "queries" | "time" | undefined => {
    if (remainingMs() === 0) return "time";
    return left === 0 ? "queries" : undefined;
  };
  return {
    take: () => {
      if (lacks() !== undefined) return false;
      left -= 1;
      return true;
    },
    remainingMs,
    lacks,
  };
}
