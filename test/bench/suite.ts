/** One measured number; `bar` is what it must not exceed. */
export type Figure = { name: string; value: number; unit: string; bar?: number };
export type Suite = () => Promise<Figure[]>;

/** The middle of an odd number of values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
