import { Problem } from "../core/errors.ts";
import { backOff } from "./failures.ts";

const attempts = 30;

/** Readers block nobody, so a short wait is enough. */
const longestStep = 4;

/**
 * Repeats a read until it returns a value. It returns undefined if it saw that the data changed meanwhile. The read is
 * repeated at once and then with back-off, for some two seconds. After that throws 503 `busy`.
 */
export async function readAgain<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 1) await backOff(Math.min(attempt - 1, longestStep));
    const found = await read();
    if (found !== undefined) return found;
  }
  throw new Problem("busy", "The list is changing too fast to read it. Try again.", { retry_after: 1 });
}
