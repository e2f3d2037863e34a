/** The number of queries and the time that remain for one DNS question, or for several questions together. */
export type Budget = {
  /** Takes one query out of the budget; false when no query or no time is left. */
  take: () => boolean;
  remainingMs: () => number;
  /** The resource that is used up; undefined if none is. */
  lacks: () => "queries" | "time" | undefined;
};

/** Opens a budget; its time starts at once. Each query is also taken out of the larger budget `within`. */
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
