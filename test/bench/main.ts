import { execFileSync, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { startSurroundings } from "../support/surroundings.ts";
import { barOf, isMet, type Figure, type Options, type Result } from "./harness.ts";
import { writePage, type Results } from "./page.ts";

type Suite = { load: () => Promise<{ run: (options: Options) => Promise<Result> }>; startsAll?: true };

/** In the order of the page. With `startsAll` a suite starts by itself what it needs, and gets no engine. */
const suites: Record<string, Suite> = {
  cold: { load: () => import("./cold.ts") },
  warm: { load: () => import("./warm.ts") },
  pages: { load: () => import("./pages.ts") },
  budgets: { load: () => import("./budgets.ts") },
  gateway: { load: () => import("./gateway.ts"), startsAll: true },
  soak: { load: () => import("./soak.ts"), startsAll: true },
  checks: { load: () => import("./checks.ts"), startsAll: true },
  domains: { load: () => import("./domains.ts") },
  mailboxes: { load: () => import("./mailboxes.ts") },
  decide: { load: () => import("./decide.ts") },
  code: { load: () => import("./code.ts") },
  promises: { load: () => import("./promises.ts") },
  load: { load: () => import("./load.ts") },
  clone: { load: () => import("./clone.ts"), startsAll: true },
};
const file = resolve(import.meta.dirname, "../../bench.json");

const usage = `npm run bench [-- suite… [document] [--quick] [--seconds N] [--write]]

Without a suite: all of them, and docs/benchmarks.md is written. Suites: ${Object.keys(suites).join(", ")}.
  document     writes docs/benchmarks.md from what bench.json holds
  --quick      fewer rounds, to see that it works
  --seconds N  how long the soak lasts, after 11 minutes of warming up (600)
  --write      budgets: what is measured becomes the budget that npm test compares with
`;

function misuse(message: string): never {
  process.stderr.write(`${message}\n${usage}`);
  process.exit(2);
}

function argumentsGiven() {
  const options = {
    quick: { type: "boolean", default: false },
    seconds: { type: "string", default: "600" },
    write: { type: "boolean", default: false },
    quiet: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  } as const;
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return misuse(error instanceof Error ? error.message : String(error));
  }
}

/** The results in bench.json; none if the file is not there. */
async function readResults(): Promise<Results> {
  const { suites = {} } = JSON.parse(await readFile(file, "utf8").catch(() => "{}")) as Partial<Results>;
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGibibytes: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  };
  return { machine, suites };
}

/** The commit of the working tree, marked `-dirty` if the tree differs from it. */
const commitHere = (): string =>
  execFileSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], { encoding: "utf8" }).trim();

/** Runs a suite in this process and puts its result into bench.json. */
async function runHere(name: string, { load, startsAll }: Suite, options: Options): Promise<void> {
  // Before the suite is loaded: the modules of the tests read the environment that this sets.
  const tearDown = startsAll ? undefined : await startSurroundings();
  try {
    const { run } = await load();
    const result = await run(options);
    const results = await readResults();
    results.suites[name] = { at: new Date().toISOString(), commit: commitHere(), quick: options.quick, ...result };
    await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
  } finally {
    await tearDown?.();
  }
}

/** Runs a suite in a process of its own, so that no suite meets the engine or the environment of another one. */
function runApart(name: string, positionals: readonly string[]): void {
  const flags = process.argv.slice(2).filter((one) => !positionals.includes(one));
  const { status } = spawnSync(process.execPath, [import.meta.filename, name, "--quiet", ...flags], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** Prints each figure beside its bar. */
function show(figures: readonly Figure[]): void {
  const rows = figures.map((figure): [string, object] => {
    const met = isMet(figure);
    const value = `${Math.round(figure.value * 1000) / 1000} ${figure.unit}`;
    return [figure.name, { value, bar: barOf(figure), met: met === undefined ? "" : met ? "yes" : "NO" }];
  });
  console.table(Object.fromEntries(rows));
}

const { values, positionals } = argumentsGiven();
const { quick, write, quiet } = values;
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const seconds = Number(values.seconds);
if (!(seconds >= 10)) misuse("--seconds takes a number from 10.");
const chosen = positionals.filter((name) => name !== "document");
const unknown = chosen.filter((name) => !(name in suites));
if (unknown.length > 0) misuse(`There is no suite ${unknown.join(", ")}.`);
const running = Object.entries(suites).filter(([name]) => positionals.length === 0 || chosen.includes(name));

for (const [name, suite] of running) {
  if (!quiet) process.stderr.write(`${name} …\n`);
  if (running.length === 1) await runHere(name, suite, { quick, seconds, write });
  else runApart(name, positionals);
}
const results = await readResults();
if (running.length > 0 && !quiet) show(running.flatMap(([name]) => results.suites[name]?.figures ?? []));
if (positionals.length === 0 || positionals.includes("document")) await writePage(results, Object.keys(suites));
