/** One measured number; `bar` is what it must not exceed, `atLeast` what it must reach. */
export type Figure = { name: string; value: number; unit: string; bar?: number; atLeast?: number };

/** What a suite was asked for beside its name. */
export type Options = {
  /** Fewer rounds: to see that it works, not to publish. */
  quick: boolean;
  /** How long the soak lasts. */
  seconds: number;
  /** Whether the budgets are written instead of compared. */
  write: boolean;
};

/** Figures, and with them whatever a chapter of docs/benchmarks.md is made of. */
export type Measured = { figures: Figure[]; data: unknown };
export type Suite = (options: Options) => Promise<Figure[] | Measured>;

/** Whether a figure is where it must be; undefined where nothing is demanded. */
export function isMet({ value, bar, atLeast }: Figure): boolean | undefined {
  if (bar === undefined && atLeast === undefined) return undefined;
  return value <= (bar ?? Infinity) && value >= (atLeast ?? -Infinity);
}

/** What must hold of a figure, as text; empty where nothing must. */
export const demandOf = ({ bar, atLeast }: Figure): string =>
  bar === undefined ? (atLeast === undefined ? "" : `≥ ${atLeast}`) : `≤ ${bar}`;

/** The middle of an odd number of values. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The value that a share of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
