/** What one question may cost, or several together, shared by all that is asked for them. */
export type Budget = {
  /** Takes one query out of it; false when there is none left, or no time. */
  take: () => boolean;
  remainingMs: () => number;
  /** What there is no more of. */
  lacks: () => "queries" | "time" | undefined;
};

/** A budget whose time begins now; what is taken out of it is taken out of the one it is `within`, too. */
export function openBudget(timeoutMs: number, maxQueries: number, within?: Budget): Budget {
  const endsAtMs = performance.now() + timeoutMs;
  let left = maxQueries;
  const remainingMs = (): number =>
    Math.max(0, Math.min(endsAtMs - performance.now(), within?.remainingMs() ?? Infinity));
  const lacks = (): "queries" | "time" | undefined => {
    if (remainingMs() === 0) return "time";
    return left === 0 ? "queries" : within?.lacks();
  };
  return {
    take: () => {
      if (lacks() !== undefined || within?.take() === false) return false;
      left -= 1;
      return true;
    },
    remainingMs,
    lacks,
  };
}
