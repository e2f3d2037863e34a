import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { resolve } from "node:path";

import { cloneToFirstAnswer } from "./clone.ts";
import { codeCost } from "./code.ts";
import { decisionCost } from "./decide.ts";
import { domainCost } from "./domains.ts";
import { bundleLoad } from "./load.ts";
import { mailboxCost } from "./mailboxes.ts";
import { pageCost } from "./pages.ts";
import { promiseCost } from "./promises.ts";
import type { Figure, Suite } from "./suite.ts";

const suites: Record<string, Suite> = {
  pages: pageCost,
  domains: domainCost,
  mailboxes: mailboxCost,
  decide: decisionCost,
  code: codeCost,
  promises: promiseCost,
  load: bundleLoad,
  clone: cloneToFirstAnswer,
};

/** `npm run bench [-- suite…]`: prints each figure beside its bar and writes them all to bench.json. */
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in suites));
if (unknown.length > 0) {
  process.stderr.write(`There is no suite ${unknown.join(", ")}. There are: ${Object.keys(suites).join(", ")}.\n`);
  process.exit(2);
}

const figures: Figure[] = [];
for (const [name, run] of Object.entries(suites)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stderr.write(`${name} …\n`);
  figures.push(...(await run()));
}

const shown = figures.map(({ name, value, unit, bar }) => ({
  figure: name,
  value: `${Math.round(value * 1000) / 1000} ${unit}`,
  bar: bar === undefined ? "" : `≤ ${bar}`,
  met: bar === undefined ? "" : value <= bar ? "yes" : "NO",
}));
console.table(Object.fromEntries(shown.map(({ figure, ...row }) => [figure, row])));
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, platform: process.platform };
await writeFile(
  resolve(import.meta.dirname, "../../bench.json"),
  `${JSON.stringify({ at: new Date().toISOString(), commit, machine, figures }, null, 2)}\n`,
);
