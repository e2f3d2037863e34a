import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Figure, Result, Row } from "./harness.ts";

/** The content of bench.json: the last result of each suite, with its time and its commit. */
export type Results = {
  machine: string;
  suites: Record<string, Result & { at: string; commit: string; quick: boolean }>;
};

const docs = join(import.meta.dirname, "../../docs");

/** The members that the pictures of the suite `warm` share. */
const requests = { suite: "warm", column: "Requests a second", only: /^(?:authenticates|only)/ };
/** The pictures of docs/benchmarks.md: a column of a table as bars. `only` chooses rows by their second column. */
const pictures = [
  { file: "cold", suite: "cold", table: "Medians of the programs", column: "Both ms", only: /./ },
  { file: "warm-get", table: "GET", ...requests },
  { file: "warm-page", table: "a page", ...requests },
  { file: "warm-post", table: "POST", ...requests },
  { file: "scale", suite: "scale", table: "Cost of a month", column: "Cents for a mailbox", only: /./ },
  { file: "soak", suite: "soak", table: "Resident memory, in MiB", column: "Product", only: /./ },
];

/** Formats a number for readers. Smaller numbers get more decimals. */
const shown = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: decimalsOf(Math.abs(value)) });

function decimalsOf(size: number): number {
  if (size < 10) return 2;
  return size < 100 ? 1 : 0;
}

/** Makes a Markdown table. Columns of numbers are aligned to the right. */
function tableOf(rows: readonly Row[]): string {
  const [first = {}] = rows;
  const line = (cells: readonly (string | number)[]): string =>
    `| ${cells.map((cell) => (typeof cell === "number" ? shown(cell) : cell)).join(" | ")} |`;
  const sides = Object.values(first).map((cell) => (typeof cell === "number" ? "--:" : "---"));
  return [line(Object.keys(first)), line(sides), ...rows.map((row) => line(Object.values(row)))].join("\n");
}

/** Draws bars as SVG. The longest bar is 400 units wide. The bars of this API are green. */
export function pictureOf(rows: readonly Row[], column: string): string {
  const most = Math.max(...rows.map((row) => Number(row[column])));
  const bars = rows.map((row, index) => {
    const [name, value, y] = [Object.values(row)[0], Number(row[column]), 24 * index];
    const width = Math.round((400 * value) / most);
    return `<text x="172" y="${y + 17}" text-anchor="end">${name}</text>
<rect x="180" y="${y + 4}" width="${width}" height="16" fill="${name === "this API" ? "#1a7f37" : "#8c959f"}"/>
<text x="${width + 186}" y="${y + 17}">${shown(value)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 ${24 * rows.length}" font-family="sans-serif" font-size="13" fill="#6e7781">
${bars.join("\n")}
</svg>
`;
}

/** A figure as a row of a table. `Met` is empty for a figure without a bar. */
export function rowOf({ name, value, unit, bar, atLeast }: Figure) {
  const isMet = value <= (bar ?? Infinity) && value >= (atLeast ?? -Infinity);
  const atMost = bar === undefined ? "" : `≤ ${bar}`;
  const limit = atLeast === undefined ? atMost : `≥ ${atLeast}`;
  return {
    Figure: name,
    Measured: `${shown(value)} ${unit}`,
    Bar: limit,
    Met: limit && (isMet ? "met" : "**missed**"),
  };
}

/** The table of all figures with a bar. Missed bars come first. */
function barsOf(suites: Results["suites"]): string {
  const rows = Object.entries(suites).flatMap(([Suite, { figures }]) =>
    figures.map((figure) => ({ Suite, ...rowOf(figure) })).filter(({ Bar }) => Bar !== ""),
  );
  const met = rows.filter(({ Met }) => Met === "met");
  const missed = rows.filter(({ Met }) => Met !== "met");
  return `${met.length} of ${rows.length} bars are met.\n\n${tableOf([...missed, ...met])}`;
}

function machineOf({ machine, suites }: Results): string {
  const results = Object.values(suites);
  const days = [...new Set(results.map(({ at }) => at.slice(0, 10)))].toSorted();
  const commits = [...new Set(results.map(({ commit }) => `\`${commit}\``))];
  const quick = results.some(({ quick }) => quick)
    ? "\n\n**Some figures come from a quick run. Do not quote these figures.**"
    : "";
  const runs = `They ran on ${days.join(", ")} at the commits ${commits.join(", ")}.`;
  return `The suites ran on this machine: ${machine}. ${runs}${quick}`;
}

/** All tables and figures of a suite, as Markdown. */
export const suiteOf = ({ figures, tables = {} }: Result): string =>
  [
    ...Object.entries(tables).map(([title, rows]) => `### ${title}\n\n${tableOf(rows)}`),
    tableOf(figures.map(rowOf)),
  ].join("\n\n");

/**
 * Writes parts into a page, each between `<!-- name -->` and `<!-- end -->`. Returns the names of the parts in the
 * page.
 */
async function fillPage(file: string, parts: ReadonlyMap<string, string>): Promise<string[]> {
  const placed: string[] = [];
  const text = await readFile(file, "utf8");
  const filled = text.replaceAll(/<!-- (\w+) -->[^]*?<!-- end -->/g, (old, name: string) => {
    if (!parts.has(name)) return old;
    placed.push(name);
    return `<!-- ${name} -->\n\n${parts.get(name)}\n\n<!-- end -->`;
  });
  await writeFile(file, filled);
  return placed;
}

/** Draws the pictures of the suites with results. */
async function drawPictures(suites: Readonly<Record<string, Result>>): Promise<void> {
  for (const { file, suite, table, column, only } of pictures) {
    const rows = suites[suite]?.tables?.[table]?.filter((row) => only.test(String(Object.values(row)[1])));
    if (rows) await writeFile(join(docs, `benchmarks/${file}.svg`), pictureOf(rows, column));
  }
}

/** Writes the model of `scale.ts` into docs/scale.md, and draws its picture. */
export async function writeScalePage(scale: Result): Promise<void> {
  const file = join(docs, "scale.md");
  await fillPage(file, new Map([["scale", suiteOf(scale)]]));
  await drawPictures({ scale });
  execFileSync(join(docs, "../node_modules/.bin/oxfmt"), [file]);
}

/**
 * Writes the results into docs/benchmarks.md, docs/scale.md and docs/benchmarks-tables.md, and draws the pictures. The
 * other text stays. Throws if a suite has no place.
 */
export async function writePages(results: Results): Promise<void> {
  const { suites } = results;
  const parts = new Map(Object.entries(suites).map(([name, result]) => [name, suiteOf(result)]));
  parts.set("machine", machineOf(results)).set("bars", barsOf(suites));
  const unplaced = new Set(parts.keys());
  const files = ["benchmarks.md", "benchmarks-tables.md", "scale.md"].map((name) => join(docs, name));
  for (const file of files) for (const name of await fillPage(file, parts)) unplaced.delete(name);
  if (unplaced.size > 0) throw new Error(`docs/benchmarks-tables.md has no place for ${[...unplaced].join(", ")}`);
  await drawPictures(suites);
  execFileSync(join(docs, "../node_modules/.bin/oxfmt"), files);
}
