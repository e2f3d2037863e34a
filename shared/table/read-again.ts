import { Problem } from "../core/errors.ts";
import { backOff } from "./failures.ts";

const attempts = 30;

/** The back-off does not grow after this step. Readers do not block each other, so short waits are enough. */
const longestStep = 4;

/**
 * Repeats a read until it returns a value. `read` returns undefined if the data changed meanwhile. The first repetition
 * follows at once. Each later repetition waits a random time first; all these waits together take about a second. After
 * 30 attempts throws 503 `busy`.
 */
export async function readAgain<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 1) await backOff(Math.min(attempt - 1, longestStep));
    const result = await read();
    if (result !== undefined) return result;
  }
  throw new Problem("busy", "The list changes too fast to read. Try again.", { retry_after: 1 });
}
