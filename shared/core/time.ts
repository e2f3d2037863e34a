import * as z from "zod";

/** An instant on the wire: RFC 3339, UTC, milliseconds, `Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });

let aheadMs = 0;

/** The time as this process sees it: the machine's, unless the local runtime has moved it ahead. */
export const clock = (): Date => new Date(Date.now() + aheadMs);

/**
 * Sets how far this process's clock is ahead of the machine's. For the local runtime, to try what happens at a later
 * time.
 */
export function setClockAhead(ms: number): void {
  aheadMs = ms;
}
