import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { resolve } from "node:path";

import type { Figure } from "./suite.ts";

const file = resolve(import.meta.dirname, "../../bench.json");

/** What one suite came to, when, and of which commit. */
export type Result = { at: string; commit: string; quick: boolean; figures: Figure[]; data?: unknown };
type Machine = { cpu: string; cores: number; memoryGibibytes: number; node: string; platform: string };
export type Results = { machine: Machine; suites: Record<string, Result> };

const machine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memoryGibibytes: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
});

/** The commit that is measured, marked where the working tree differs from it. */
export function commitHere(): string {
  const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
  const commit = git("rev-parse", "--short=12", "HEAD");
  return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}, changed`;
}

/** The results in bench.json; none when it is not there, or of another form. */
export async function readResults(): Promise<Results> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  const { suites = {} } = JSON.parse(text) as Partial<Results>;
  return { machine: machine(), suites };
}

export const writeResults = (results: Results): Promise<void> =>
  writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
