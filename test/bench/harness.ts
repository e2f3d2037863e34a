import { execFileSync } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { progressOn } from "../../infra/local/start/banner.ts";

/** The project's folder. */
export const root = join(import.meta.dirname, "../..");

/** One measured number. `bar` is its maximum, `atLeast` its minimum. */
export type Figure = { name: string; value: number; unit: string; bar?: number; atLeast?: number };

/** A row of a table, by the names of its columns. */
export type Row = Record<string, string | number>;

/**
 * The options of the command line.
 * - `quick`: measures fewer rounds and rows. The results show only that a suite works, and are not published.
 * - `write`: writes the budgets instead of comparing with them.
 */
export type Options = { quick: boolean; write: boolean };

/** The result of a suite: its figures, and its tables by their titles. The tables go into docs/benchmarks-tables.md. */
export type Result = { figures: Figure[]; tables?: Record<string, Row[]> };

/** The value that a share (0 to 1) of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

/** The median of the rounds' ratios. A slow moment of the machine slows both values of a round, and not their ratio. */
export const ratioOf = (ours: readonly number[] = [], theirs: readonly number[] = []): number =>
  median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));

/** A record with the same names and other values. */
export const mapValues = <Name extends string, T, R>(record: Record<Name, T>, change: (value: T) => R) =>
  Object.fromEntries(Object.entries<T>(record).map(([name, value]) => [name, change(value)])) as Record<Name, R>;

/** Measures the milliseconds of a function. */
export async function timed(run: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

/** Measures the seconds of an npm command in a folder. Throws if the command fails. */
export function secondsOf(command: readonly string[], cwd = root): number {
  const startedAt = performance.now();
  execFileSync("npm", ["--silent", ...command], { cwd, stdio: ["ignore", "ignore", "inherit"] });
  return (performance.now() - startedAt) / 1000;
}

/**
 * Runs all variants once a round, one after another, and shows the progress on standard error. Returns the samples of
 * each variant, by round.
 */
export async function inTurns<Name extends string, T>(
  rounds: number,
  variants: Record<Name, (round: number) => Promise<T>>,
): Promise<Record<Name, T[]>> {
  const samples = mapValues(variants, (): T[] => []);
  const show = progressOn(process.stderr, { of: rounds, unit: "rounds" });
  for (let round = 0; round < rounds; round++) {
    show(round);
    for (const name in variants) samples[name].push(await variants[name](round));
  }
  show(rounds);
  return samples;
}

/** A new folder, which is deleted when its variable goes out of scope. */
export const newFolder = () => mkdtempDisposable(join(tmpdir(), "hosted-mail-bench-"));
