/** The shares of the quota, in per cent, at which the event `mailbox.quota_reached` is sent. */
const quotaSteps = [80, 95, 100] as const;

/** The used share of a quota, in per cent, rounded down to one decimal. A quota of 0 counts as used up. */
export const usedPercent = (used: number, allowed: number): number =>
  allowed === 0 ? 100 : Math.floor((used / allowed) * 1_000) / 10;

/** The highest step of the quota that the usage has reached, in per cent; 0 below the first step. */
export const quotaStep = (used: number, allowed: number): number =>
  quotaSteps.findLast((step) => usedPercent(used, allowed) >= step) ?? 0;
