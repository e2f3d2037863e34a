import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One measured number. `bar` is the most that it may be, `atLeast` the least. */
export type Figure = { name: string; value: number; unit: string; bar?: number; atLeast?: number };

/** The options of the command line. */
export type Options = {
  /** Fewer rounds: they show that a suite works, and are not published. */
  quick: boolean;
  /** How long the soak lasts, in seconds. */
  seconds: number;
  /** Writes the budgets instead of comparing with them. */
  write: boolean;
};

/** What a suite measured. `chapter` is its part of docs/benchmarks.md, in Markdown. */
export type Result = { figures: Figure[]; chapter?: string };

/** Whether a figure meets its bar; undefined for a figure without one. */
export function isMet({ value, bar, atLeast }: Figure): boolean | undefined {
  if (bar === undefined && atLeast === undefined) return undefined;
  return value <= (bar ?? Infinity) && value >= (atLeast ?? -Infinity);
}

/** A figure's bar as text; empty for a figure without one. */
export const barOf = ({ bar, atLeast }: Figure): string =>
  bar === undefined ? (atLeast === undefined ? "" : `≥ ${atLeast}`) : `≤ ${bar}`;

/** The value that a share (0 to 1) of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The median of each round's ratio. A slow moment of the machine falls on both sides of it. */
export const ratioOf = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));

/** Milliseconds that something takes. */
export async function timed(run: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

/** Runs all variants once a round, one after another, and returns the samples of each variant by round. */
export async function inTurns<T>(rounds: number, variants: readonly ((round: number) => Promise<T>)[]): Promise<T[][]> {
  const samples = variants.map((): T[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, run] of variants.entries()) samples[index]?.push(await run(round));
  }
  return samples;
}

/** The median milliseconds of each variant, by its name. */
export async function mediansOf<Name extends string>(rounds: number, variants: Record<Name, () => unknown>) {
  const runs = Object.values<() => unknown>(variants).map((run) => () => timed(run));
  const samples = await inTurns(rounds, runs);
  const medians = Object.keys(variants).map((name, index) => [name, median(samples[index] ?? [])]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/** Runs something with a new folder, and deletes the folder. */
export async function inFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-mail-bench-"));
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
