import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import {
  budgetChapter,
  checksChapter,
  coldChapter,
  pagesChapter,
  soakChapter,
  warmChapter,
  type Chapter,
} from "./chapters.ts";
import type { Result, Results } from "./results.ts";
import { demandOf, isMet, type Figure } from "./suite.ts";

const root = resolve(import.meta.dirname, "../..");
const charts = join(root, "docs/benchmarks");

/** In the order of the page; a suite without a chapter is in the tables of figures only. */
const chapters: Record<string, (data: unknown) => Chapter> = {
  cold: coldChapter,
  warm: warmChapter,
  pages: pagesChapter,
  budgets: budgetChapter,
  soak: soakChapter,
  checks: checksChapter,
};

/** Writes docs/benchmarks.md and its charts from what was measured. */
export async function writeDocument({ machine, suites }: Results): Promise<void> {
  await mkdir(charts, { recursive: true });
  const parts: string[] = [];
  for (const [name, chapterOf] of Object.entries(chapters)) {
    const result = suites[name];
    if (!result) continue;
    const { text, charts: drawn } = chapterOf(result.data);
    parts.push(`${text}\n${figuresOf(name, result)}`);
    for (const [file, drawing] of Object.entries(drawn)) await writeFile(join(charts, file), drawing);
  }
  const others = Object.entries(suites).filter(([name]) => !(name in chapters));
  const { cpu, cores, memoryGibibytes, node, platform } = machine;
  const page = `# Benchmarks

Written by \`npm run bench\`, which measures all of this in one run; do not edit. \`npm run bench -- cold --quick\` measures one suite, quickly.

Machine: ${cpu}, ${cores} cores, ${memoryGibibytes} GiB, ${platform}, Node ${node}, DynamoDB by the embedded engine. Nothing here was measured on
AWS: read the ratios, not the milliseconds. ${whenOf(Object.values(suites))}

${demandsOf(suites)}
${parts.join("\n")}
## Other suites

${others.map(([name, result]) => figuresOf(name, result)).join("\n")}`;
  const file = join(root, "docs/benchmarks.md");
  await writeFile(file, page);
  execFileSync(join(root, "node_modules/.bin/oxfmt"), [file]);
}

/** Of which commit and when, and what of it is not fit to be published. */
function whenOf(results: readonly Result[]): string {
  const commits = [...new Set(results.map(({ commit }) => commit))];
  const days = [...new Set(results.map(({ at }) => at.slice(0, 10)))].toSorted();
  const quick = results.some((result) => result.quick)
    ? " **Some of it is of a quick run, which is not fit to be quoted.**"
    : "";
  return `Measured on ${days.join(", ")} at ${commits.map((commit) => `\`${commit}\``).join(", ")}.${quick}`;
}

const valueOf = ({ value, unit }: Figure): string =>
  `${value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 1 })} ${unit}`;

/** Everything that something is demanded of, in one table: what is missed first. */
function demandsOf(suites: Results["suites"]): string {
  const demanded = Object.entries(suites).flatMap(([name, { figures }]) =>
    figures.filter((figure) => isMet(figure) !== undefined).map((figure) => ({ name, figure })),
  );
  const missed = demanded.filter(({ figure }) => !isMet(figure));
  const rows = [...missed, ...demanded.filter(({ figure }) => isMet(figure))].map(
    ({ name, figure }) =>
      `| ${isMet(figure) ? "met" : "**missed**"} | ${name} | ${figure.name.trim()} | ${valueOf(figure)} | ${demandOf(figure)} |`,
  );
  return `## Bars

${demanded.length - missed.length} of ${demanded.length} are met.

| | Suite | Figure | Measured | Bar |
| --- | --- | --- | --: | --: |
${rows.join("\n")}
`;
}

function figuresOf(name: string, { figures }: Result): string {
  const rows = figures.map((figure) => `| ${figure.name.trim()} | ${valueOf(figure)} | ${demandOf(figure)} |`);
  return `<details><summary>All figures of <code>npm run bench -- ${name}</code></summary>

| Figure | Measured | Bar |
| --- | --: | --: |
${rows.join("\n")}

</details>
`;
}
