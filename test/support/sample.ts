import { createHash } from "node:crypto";

/** Whether a test tries all cases (`npm run exhaustive`), and not a sample of them (`npm test`). */
export const isExhaustive = process.env["TESTS"] === "exhaustive";

/** The seed that chooses the samples of this run. The global setup draws it unless TEST_SEED gives it. */
export const seed = (): string => process.env["TEST_SEED"] ?? "";

/** Chooses `count` elements of a list by the seed and the name `what`. An exhaustive run gets all elements. */
export function sampleOf<T>(all: readonly T[], count: number, what: string): T[] {
  if (isExhaustive) return [...all];
  const placeOf = (index: number) => createHash("sha256").update(`${seed()} ${what} ${index}`).digest("hex");
  return all
    .map((one, index) => ({ one, place: placeOf(index) }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, count)
    .map(({ one }) => one);
}
