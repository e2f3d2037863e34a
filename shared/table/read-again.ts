import { Problem } from "../core/errors.ts";
import { backOff } from "./failures.ts";

const attempts = 30;

/** The back-off does not grow after this attempt. Readers do not block each other, so short waits are enough. */
const longestStep = 4;

/**
 * Repeats a read until it returns a value. A read returns undefined if it saw that the data changed meanwhile. It is
 * repeated at once, and then with back-off for about two seconds. After that, throws 503 `busy`.
 */
export async function readAgain<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 1) await backOff(Math.min(attempt - 1, longestStep));
    const found = await read();
    if (found !== undefined) return found;
  }
  throw new Problem("busy", "The list changes too fast to read. Try again.", { retry_after: 1 });
}
