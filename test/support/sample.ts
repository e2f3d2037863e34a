import { createHash } from "node:crypto";

/** Whether everything is tried (`npm run exhaustive`), and not a sample of it (`npm test`). */
export const isExhaustive = process.env["TESTS"] === "exhaustive";

/** What decides this run's samples; the global setup draws it unless it is given. */
export const seed = (): string => process.env["TEST_SEED"] ?? "";

/** So many of them, which ones by the seed and by what they are for; all of them in an exhaustive run. */
export function sampleOf<T>(all: readonly T[], count: number, what: string): T[] {
  if (isExhaustive) return [...all];
  const placeOf = (index: number) => createHash("sha256").update(`${seed()} ${what} ${index}`).digest("hex");
  return all
    .map((one, index) => ({ one, place: placeOf(index) }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, count)
    .map(({ one }) => one);
}
