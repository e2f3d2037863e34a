let aheadMs = 0;

/** The time as this process sees it: the machine's, unless the local runtime has moved it ahead. */
export const clock = (): Date => new Date(Date.now() + aheadMs);

/** Moves this process's clock so far ahead of the machine's. For the local runtime, to see what time brings. */
export function setClockAhead(ms: number): void {
  aheadMs = ms;
}
