import { parseArgs } from "node:util";

import { simulate, type Outcome } from "./engine.ts";
import { failoverBugs } from "./failover-protocol.ts";
import { simulateFailover } from "./failover.ts";
import { bugs, modules, modulesWith } from "./modules.ts";

const usage = `npm run simulate -- [options]
  --seed N       the first seed (1)
  --steps M      steps of each schedule (500)
  --schedules K  the number of schedules, each with the next seed (1)
  --module NAME  one module alone: ${modules.map(({ name }) => name).join(", ")}; or failover, which has two regions
  --bug NAME     plant a mistake: ${Object.keys(bugs).join(", ")}; in failover: ${failoverBugs.join(", ")}
  --trace        print every step
  --help         print this text
`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: "string", default: "1" },
        steps: { type: "string", default: "500" },
        schedules: { type: "string", default: "1" },
        module: { type: "string" },
        bug: { type: "string" },
        trace: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      return process.exit(0);
    }
    const numbers = { seed: Number(values.seed), steps: Number(values.steps), schedules: Number(values.schedules) };
    if (!Object.values(numbers).every(Number.isSafeInteger)) throw new Error("A number is not whole.");
    const { module, bug, trace } = values;
    const isFailover = module === "failover";
    const mistakes: readonly string[] = isFailover ? failoverBugs : Object.keys(bugs);
    if (bug !== undefined && !mistakes.includes(bug)) throw new Error(`There is no mistake ${bug}.`);
    const isKnown = module === undefined || isFailover || modules.some(({ name }) => name === module);
    if (!isKnown) throw new Error(`There is no module ${module}.`);
    return { ...numbers, module, bug, trace };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

const { seed: first, steps, schedules, module, bug, trace } = readOptions();
const simulated = modulesWith(bug).filter(({ name }) => module === undefined || name === module);
const write = (line: string) => process.stdout.write(`${line}\n`);
const count = (number: number) => Math.round(number).toLocaleString("en-US");
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1_000;
const total = { steps: 0, commits: 0, deaths: 0, faults: 0 };
let reportedAt = 0;

function reportFailure(seed: number, { steps: at, tail, violation, digest }: Outcome): void {
  const part = `${module === undefined ? "" : ` --module ${module}`}${bug === undefined ? "" : ` --bug ${bug}`}`;
  const replay = `--seed ${seed} --steps ${steps}${part} --trace`;
  if (!trace) write(`\n… the last lines of the trace:\n${tail.join("\n")}`);
  write(`\nSeed ${seed} failed at step ${at} (trace ${digest.toString(16)}): ${violation?.message}`);
  write(`Schedules before this one: ${seed - first}. Replay: npm run simulate -- ${replay}`);
}

/** Runs the schedule of a seed. */
function runSeed(seed: number): Promise<Outcome> {
  const options = { seed, steps, trace: trace ? write : undefined };
  if (module === "failover") return simulateFailover({ ...options, bug: failoverBugs.find((name) => name === bug) });
  return simulate({ ...options, modules: simulated, bug: bug === undefined ? undefined : bugs[bug] });
}

for (let seed = first; seed < first + schedules; seed++) {
  const outcome = await runSeed(seed);
  for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += outcome[name];
  if (outcome.violation) {
    reportFailure(seed, outcome);
    process.exit(1);
  }
  if (seconds() - reportedAt > 2) {
    reportedAt = seconds();
    write(`${count(seed - first + 1)} seeds, ${count(total.steps)} steps, ${count(total.steps / seconds())} a second`);
  }
}
const { commits, deaths, faults } = total;
write(`${count(schedules)} schedules from seed ${first}, ${count(total.steps)} steps in ${seconds().toFixed(1)} s:`);
write(`${count(commits)} commits, ${count(deaths)} deaths, ${count(faults)} faults, no violation.`);
