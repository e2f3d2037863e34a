import { execFile } from "node:child_process";
import { resolve } from "node:path";

import { expect, test, vi } from "vitest";

import { Problem } from "../../shared/core/errors.ts";
import { isExhaustive, sampleOf, seed } from "../support/sample.ts";
import { simulate, type Outcome } from "./engine.ts";
import { bugs, modules, modulesWith } from "./modules.ts";
import type { Module, World } from "./world.ts";

// A test that runs out of time goes on beside the next tests, and shares its clock and settings with them. So each test
// has enough time for a busy machine.
vi.setConfig({ testTimeout: 240_000 });

type Search = { modules: readonly Module[]; schedules: number; steps: number; from?: number };

/** Returns the first schedule with a violation. Undefined if no schedule has one. */
async function findViolation(
  { modules, schedules, steps, from = 1 }: Search,
  bug?: string,
): Promise<(Outcome & { seed: number }) | undefined> {
  for (let seed = from; seed < from + schedules; seed++) {
    const outcome = await simulate({ modules, seed, steps, bug: bug === undefined ? undefined : bugs[bug] });
    if (outcome.violation) return { ...outcome, seed };
  }
  return undefined;
}

test.for<[string, number, number]>([
  ["ledger", 1_000, 80],
  ["billing", 250, 80],
  ["recharges", 250, 120],
  ["purchases", 60, 400],
  ["lives", 60, 400],
  ["dedicated-ips", 100, 400],
])(
  "interleavings, faults, lost answers and deaths break no invariant of the %s module",
  async ([name, schedules, steps]) => {
    // A run that samples takes a third of the schedules. The seed of the run chooses them.
    const from = 1 + Number(seed());
    const chosen = isExhaustive ? { schedules } : { schedules: Math.ceil(schedules / 3), from };
    const found = await findViolation({ modules: modules.filter((one) => one.name === name), steps, ...chosen });
    expect(found && `seed ${found.seed}: ${found.violation?.message}\n${found.tail.join("\n")}`).toBeUndefined();
  },
);

/**
 * The first schedule of the search, for a mistake that only one of some 500 schedules shows. Another order of the awaits
 * in the product moves these schedules, so every run searches for these mistakes.
 */
const rareMistakes: Readonly<Record<string, number>> = {
  "account-status": 461,
  "billing-state": 1361,
  "page-goes-on": 7984,
};

const otherMistakes = Object.keys(bugs).filter((bug) => !(bug in rareMistakes));

test.for([...Object.keys(rareMistakes), ...sampleOf(otherMistakes, 6, "bugs")])(
  "with the mistake %s a violation is found within 500 schedules",
  async (bug) => {
    const planted = modulesWith(bug);
    // A purchase and a transfer take several runs of the worker. A dedicated IP does too.
    const long = new Set(["purchases", "lives", "dedicated-ips"]);
    const steps = planted.some(({ name }) => long.has(name)) ? 500 : 120;
    const from = rareMistakes[bug] ?? 1;
    expect(await findViolation({ modules: planted, schedules: 500, steps, from }, bug)).toBeDefined();
  },
);

/** The seeds of schedules in which a process dies before the answer to a registration or a transfer. */
const rareSchedules: Readonly<Record<string, readonly number[]>> = { lives: [1213], purchases: [1104] };

test("the schedules reach commits, refusals, failures, deaths, and captured and voided holds", async () => {
  const lines: string[] = [];
  let deaths = 0;
  let commits = 0;
  const run = async (name: string, seed: number) => {
    const steps = name === "purchases" || name === "lives" ? 400 : 200;
    const chosen = modules.filter((one) => one.name === name);
    const outcome = await simulate({ modules: chosen, seed, steps, trace: (line) => lines.push(line) });
    deaths += outcome.deaths;
    commits += outcome.commits;
  };
  for (const [index, { name }] of modules.entries())
    for (let seed = 801 + index; seed <= 1050; seed += modules.length) await run(name, seed);
  for (const [name, seeds] of Object.entries(rareSchedules)) for (const seed of seeds) await run(name, seed);
  expect(deaths).toBeGreaterThan(20);
  expect(commits).toBeGreaterThan(300);
  const text = lines.join("\n");
  for (const seen of [
    "learns: done",
    "was done before",
    / available, and \d+ is required/,
    "belongs to another movement",
    "is captured",
    "is voided",
    "provider: paid",
    ", and tells nobody",
    /asked about [1-9]/,
    /death ask/,
    ": credited",
    ": known",
    "insufficient funds",
    "The account has an open invoice",
    /commit BILLING, ACCRUAL.*LIST#invoices.*LEDGER#MOVEMENT#invoice/,
    /death day/,
    "has not expired",
    "does not answer",
    "throttled",
    /lost .* answer: committed/,
    /death .* answer: committed/,
    /death .* commit /,
    /conflict .* commit /,
    /registrar: operation-\d+ .* succeeded in 0/,
    /registrar: operation-\d+ .* failed in/,
    /registrar: operation-\d+ .* given back/,
    /death work.* registrar: answer to register/,
    /death work.* registrar: answer to transfer/,
    /commit PURCHASE#.* HOLDER/,
    /commit LIST#domains#ROW.* OPERATION#.* BUYER/,
    /commit LIST#domains#ROW.* LEDGER#ENTRY#wallet/,
    "domain_taken",
    "payment_required",
    /commit FREE#|commit .*FREE#/,
    /commit IP_OPERATION#.*IP_DOMAIN#/,
    /death assign/,
    /registrar: transfer-\d+ .* succeeded in/,
    /registrar: departure-\d+ .* succeeded/,
  ]) {
    expect(text).toMatch(seen);
  }
});

test("the same seed makes the same schedule, and another seed makes another schedule", async () => {
  const digestOf = async (seed: number) => (await simulate({ modules, seed, steps: 300 })).digest;
  const first = await digestOf(7);
  expect(await digestOf(7)).toBe(first);
  expect(await digestOf(8)).not.toBe(first);
});

test("parallel branches of a process interleave with other processes, and die with their process", async () => {
  const ends: string[] = [];
  const both = async ({ table, pause }: World) => {
    const raise = (SK: string) => table.attempt({ update: { PK: "P", SK }, add: { count: 1 } });
    await Promise.all([raise("a"), raise("b"), pause("beside")]).catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
    });
    ends.push("end");
  };
  const module: Module = {
    name: "branches",
    bugs: {},
    open: () => ({ actors: [{ name: "both", weight: 1, run: both }], invariants: () => [] }),
  };
  const lines: string[] = [];
  let deaths = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const outcome = await simulate({ modules: [module], seed, steps: 200, trace: (line) => lines.push(line) });
    expect(outcome.violation).toBeUndefined();
    deaths += outcome.deaths;
  }
  const starts = lines.filter((line) => line.startsWith("start")).length;
  expect(ends.length).toBeGreaterThan(100);
  expect(deaths).toBeGreaterThan(5);
  expect(ends.length).toBeLessThanOrEqual(starts - deaths);
});

/** Runs `npm run simulate`. Returns its output and its exit code. */
const run = (args: readonly string[]) =>
  new Promise<{ code: number; out: string }>((done) => {
    const file = resolve(import.meta.dirname, "main.ts");
    execFile(process.execPath, [file, ...args], (error, out, err) => {
      done({ code: error ? Number(error.code) : 0, out: `${out}${err}` });
    });
  });

test("a failure is printed with the command that replays it to the same end", async () => {
  const found = await run(["--bug", "balance-version", "--schedules", "100", "--steps", "150"]);
  expect(found.code).toBe(1);
  const [, command = ""] = /Replay: npm run simulate -- (.*)/.exec(found.out) ?? [];
  const replayed = await run(command.split(" "));
  const endOf = (out: string) => /Seed \d+ failed at .*/.exec(out)?.[0];
  expect(endOf(found.out)).toBeDefined();
  expect(endOf(replayed.out)).toBe(endOf(found.out));
  expect(replayed.out.length).toBeGreaterThan(endOf(found.out)?.length ?? 0);
});

test("a run without a failure exits with 0, and a run with invalid arguments exits with 2", async () => {
  expect(await run(["--schedules", "3"])).toMatchObject({ code: 0, out: expect.stringContaining("no violation") });
  expect(await run(["--bug", "none such"])).toMatchObject({ code: 2, out: expect.stringContaining("balance-version") });
});
