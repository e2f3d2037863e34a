import { execFileSync, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { startSurroundings } from "../support/surroundings.ts";
import type { Options, Result } from "./harness.ts";
import { rowOf, writePages, type Results } from "./page.ts";

/** The suites that get an engine with a table, and the suites that start everything themselves. */
const withEngine = "cold warm load pages budgets domains mailboxes mail billing decide promises code".split(" ");
const suites = [...withEngine, "gateway", "soak", "checks", "clone", "scale"];
const file = join(import.meta.dirname, "../../bench.json");

const usage = `npm run bench [-- suite… [document] [--quick] [--write]]

Without a suite, runs all suites and writes docs/benchmarks.md. Suites: ${suites.join(", ")}.
  document  writes docs/benchmarks.md, its tables and its pictures from the results in bench.json
  --quick   measures fewer rounds, to see that a suite works
  --write   budgets: the measured costs become the budgets that npm test compares with
            scale: writes docs/scale.md
`;

/** The results in bench.json. Empty if there is no file. */
async function readResults(): Promise<Results> {
  const { suites = {} } = JSON.parse(await readFile(file, "utf8").catch(() => "{}")) as Partial<Results>;
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const machine = [cpus()[0]?.model.trim(), `${cpus().length} cores`, memory, process.platform, process.arch];
  return { machine: `${machine.join(", ")}, Node ${process.version}`, suites };
}

/** Runs a suite in this process and puts its result into bench.json. */
async function runHere(name: string, options: Options): Promise<void> {
  // Runs before the suite is loaded, because the modules of the tests read this environment.
  const tearDown = withEngine.includes(name) ? await startSurroundings() : undefined;
  try {
    const { run } = (await import(`./${name}.ts`)) as { run: (options: Options) => Promise<Result> };
    const result = await run(options);
    const describe = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
    const commit = execFileSync("git", describe, { encoding: "utf8" }).trim();
    const results = await readResults();
    results.suites[name] = { at: new Date().toISOString(), commit, quick: options.quick, ...result };
    await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
  } finally {
    await tearDown?.();
  }
}

/** Runs each suite in a process of its own, so that suites do not share an engine or an environment. */
async function runApart(chosen: readonly string[], flags: readonly string[]): Promise<void> {
  for (const name of chosen) {
    process.stderr.write(`${name} …\n`);
    const env = { ...process.env, BENCH_SUITE: name };
    const { status } = spawnSync(process.execPath, [import.meta.filename, ...flags], { stdio: "inherit", env });
    if (status !== 0) process.exit(status ?? 1);
    console.table((await readResults()).suites[name]?.figures.map(rowOf));
  }
}

const { values, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const isUnknown = (name: string): boolean => name !== "document" && !suites.includes(name);
const own = process.env["BENCH_SUITE"];
if (values.help || positionals.some(isUnknown)) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else if (own !== undefined) {
  await runHere(own, values);
} else {
  const runsAll = positionals.length === 0;
  const flags = process.argv.slice(2).filter((one) => !positionals.includes(one));
  await runApart(
    suites.filter((name) => runsAll || positionals.includes(name)),
    flags,
  );
  if (runsAll || positionals.includes("document")) await writePages(await readResults());
}
