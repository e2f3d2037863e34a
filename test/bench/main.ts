import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

import { tableBudgets } from "./budgets.ts";
import { checkTimes } from "./checks.ts";
import { cloneToFirstAnswer } from "./clone.ts";
import { codeCost } from "./code.ts";
import { coldStarts } from "./cold.ts";
import { decisionCost } from "./decide.ts";
import { writeDocument } from "./document.ts";
import { domainCost } from "./domains.ts";
import { bundleLoad } from "./load.ts";
import { mailboxCost } from "./mailboxes.ts";
import { pageCost } from "./pages.ts";
import { promiseCost } from "./promises.ts";
import { commitHere, readResults, writeResults } from "./results.ts";
import { soak } from "./soak.ts";
import { demandOf, isMet, type Figure, type Suite } from "./suite.ts";
import { warmRequests } from "./warm.ts";

const suites: Record<string, Suite> = {
  cold: coldStarts,
  warm: warmRequests,
  budgets: tableBudgets,
  pages: pageCost,
  domains: domainCost,
  mailboxes: mailboxCost,
  decide: decisionCost,
  code: codeCost,
  promises: promiseCost,
  load: bundleLoad,
  clone: cloneToFirstAnswer,
  checks: checkTimes,
  soak,
};

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

function optionsOf() {
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

/** Prints each figure beside what must hold of it. */
function show(figures: readonly Figure[]): void {
  const rows = figures.map((figure): [string, object] => {
    const met = isMet(figure);
    const value = `${Math.round(figure.value * 1000) / 1000} ${figure.unit}`;
    return [figure.name, { value, bar: demandOf(figure), met: met === undefined ? "" : met ? "yes" : "NO" }];
  });
  console.table(Object.fromEntries(rows));
}

const { values, positionals } = optionsOf();
const { quick, write } = values;
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const seconds = Number(values.seconds);
if (!(seconds >= 10)) misuse("--seconds takes a number from 10.");
const chosen = positionals.filter((name) => name !== "document");
const unknown = chosen.filter((name) => !(name in suites));
if (unknown.length > 0) misuse(`There is no suite ${unknown.join(", ")}.`);
const documents = positionals.length === 0 || positionals.includes("document");
const running = positionals.length === 0 ? Object.keys(suites) : chosen;

/** A suite has a process of its own: what one opens and sets would lead the next one to an engine that is gone. */
function runApart(name: string): void {
  const args = [
    import.meta.filename,
    name,
    "--quiet",
    ...process.argv.slice(2).filter((one) => !positionals.includes(one)),
  ];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

async function runHere(name: string, run: Suite): Promise<void> {
  const measured = await run({ quick, seconds, write });
  const result = Array.isArray(measured) ? { figures: measured } : measured;
  const results = await readResults();
  results.suites[name] = { at: new Date().toISOString(), commit: commitHere(), quick, ...result };
  await writeResults(results);
}

for (const [name, run] of Object.entries(suites)) {
  if (!running.includes(name)) continue;
  if (!values.quiet) process.stderr.write(`${name} …\n`);
  if (running.length === 1) await runHere(name, run);
  else runApart(name);
}
const results = await readResults();
if (running.length > 0 && !values.quiet) show(running.flatMap((name) => results.suites[name]?.figures ?? []));
if (documents) await writeDocument(results);
