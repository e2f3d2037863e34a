import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { barOf, isMet, type Figure, type Result } from "./harness.ts";

type Machine = { cpu: string; cores: number; memoryGibibytes: number; node: string; platform: string };

/** What bench.json holds: the last result of each suite, with its time and its commit. */
export type Results = {
  machine: Machine;
  suites: Record<string, Result & { at: string; commit: string; quick: boolean }>;
};

/** A number for readers, with digits after the point. */
export const shown = (value: number, digits = 1): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A Markdown table. Columns of numbers stand on the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const sides = head.map((_, index) => (rows.every((row) => /^(?:[-$]?\d|$)/.test(row[index] ?? "")) ? "--:" : "---"));
  return [line(head), line(sides), ...rows.map(line)].join("\n");
}

/** A bar of blocks, for a table: 20 of them are the largest value. */
export const blocks = (value: number, largest: number): string => "█".repeat(Math.round((20 * value) / largest));

const valueOf = ({ value, unit }: Figure): string =>
  `${value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 1 })} ${unit}`;

/** Every figure that has a bar. The missed ones come first. */
function barsOf(suites: Results["suites"]): string {
  const all = Object.entries(suites).flatMap(([suite, { figures }]) =>
    figures.map((figure) => ({ suite, figure, met: isMet(figure) })).filter(({ met }) => met !== undefined),
  );
  const rows = all
    .toSorted((one, other) => Number(one.met) - Number(other.met))
    .map(({ suite, figure, met }) => [met ? "met" : "**missed**", suite, figure.name, valueOf(figure), barOf(figure)]);
  return `## Bars

A bar is the limit that we set for a figure. ${all.filter(({ met }) => met).length} of ${all.length} are met.

${table(["", "Suite", "Figure", "Measured", "Bar"], rows)}
`;
}

const figuresOf = (suite: string, { figures }: Result): string =>
  `<details><summary>All figures of <code>npm run bench -- ${suite}</code></summary>

${table(
  ["Figure", "Measured", "Bar"],
  figures.map((figure) => [figure.name, valueOf(figure), barOf(figure)]),
)}

</details>
`;

/** Writes docs/benchmarks.md from the results. Chapters come in the order of `names`, then the suites without one. */
export async function writePage({ machine, suites }: Results, names: readonly string[]): Promise<void> {
  const results = names.flatMap((name) => (suites[name] ? [{ name, ...suites[name] }] : []));
  const [plain, told] = [results.filter(({ chapter }) => !chapter), results.filter(({ chapter }) => chapter)];
  const days = [...new Set(results.map(({ at }) => at.slice(0, 10)))].toSorted();
  const commits = [...new Set(results.map(({ commit }) => `\`${commit}\``))];
  const warning = results.some(({ quick }) => quick) ? " **Some figures are of a quick run. Do not quote them.**" : "";
  const { cpu, cores, memoryGibibytes, node, platform } = machine;
  const page = `# Benchmarks

This page has the measured speed, memory and cost of the product. It is generated: do not edit it.

- \`npm run bench\` runs all suites and writes this page.
- \`npm run bench -- cold\` runs one suite, and prints its figures.
- \`npm run bench -- cold --quick\` does the same with fewer rounds, to see that it works.
- \`npm run bench -- document\` writes this page from \`bench.json\`, which has the last result of each suite.

Nothing here was measured on AWS. Compare the ratios, not the milliseconds.

Machine: ${cpu}, ${cores} cores, ${memoryGibibytes} GiB, ${platform}, Node ${node}, DynamoDB by the embedded engine. Measured on ${days.join(", ")} at ${commits.join(", ")}.${warning}

${barsOf(suites)}
${told.map((result) => `${result.chapter}\n${figuresOf(result.name, result)}`).join("\n")}
## Other suites

${plain.map((result) => figuresOf(result.name, result)).join("\n")}`;
  const root = resolve(import.meta.dirname, "../..");
  const file = join(root, "docs/benchmarks.md");
  await writeFile(file, page);
  execFileSync(join(root, "node_modules/.bin/oxfmt"), [file]);
}
