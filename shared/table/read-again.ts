import { Problem } from "../core/errors.ts";
import { backOff } from "./failures.ts";

const attempts = 30;

/** Readers are in nobody's way: a short wait does. */
const longestStep = 4;

/**
 * What a reading finds that may see that somebody changed things meanwhile, which it says by undefined: it is done again,
 * at once and then with back-off, for some two seconds. 503 `busy`.
 */
export async function readAgain<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 1) await backOff(Math.min(attempt - 1, longestStep));
    const found = await read();
    if (found !== undefined) return found;
  }
  throw new Problem("busy", "The list is changing too fast to read it. Try again.", { retry_after: 1 });
}
