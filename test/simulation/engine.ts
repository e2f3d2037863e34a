import { Problem } from "../../shared/core/errors.ts";
import type { Item, Write } from "../../shared/table/writes.ts";
import {
  createMemoryStore,
  everything,
  openMemoryTable,
  peek,
  type Change,
  type Fault,
} from "../support/memory-table.ts";
import { worldBefore } from "./beforehand.ts";
import { failureOf, nameOf, settled, violationOf, type Process, type Waiting } from "./process.ts";
import { createRandom, type Random } from "./random.ts";
import { createTrace } from "./trace.ts";
import { drawWeather } from "./weather.ts";
import type { Actor, Bug, Invariant, Module, World } from "./world.ts";

export type Options = {
  modules: readonly Module[];
  seed: number;
  steps: number;
  bug?: Bug | undefined;
  trace?: ((line: string) => void) | undefined;
};

/** The outcome of a schedule. `tail` has the last lines of its trace. `digest` is a hash of the whole trace. */
export type Outcome = {
  steps: number;
  commits: number;
  deaths: number;
  faults: number;
  digest: number;
  tail: readonly string[];
  violation?: Error;
};

const startsAt = Date.UTC(2026, 0, 1);

/**
 * Runs one schedule: processes with random work on one table in memory. At every step the seed chooses a process. The
 * process goes on to its next await, gets a fault, or dies. The same seed and steps make the same schedule. The
 * invariants are checked after every step that committed something. At the end all processes die, each module comes to
 * rest, and new invariants check the whole table.
 */
export async function simulate(options: Options): Promise<Outcome> {
  const random = createRandom(options.seed);
  const actual = Math.random;
  const { stackTraceLimit } = Error;
  // Random choices of the product must come from the seed as well.
  const chance = random.fork();
  Math.random = () => chance.below(2 ** 31) / 2 ** 31;
  // Most errors here are expected answers. A stack trace would double the time that an error takes.
  if (!options.trace) Error.stackTraceLimit = 0;
  const [first, ...others] = options.modules;
  const { VAT, PLAN_PRICES } = process.env;
  const vatOfModule = others.length === 0 ? first?.vat : undefined;
  process.env["VAT"] = vatOfModule ?? VAT ?? "";
  process.env["PLAN_PRICES"] = JSON.stringify(options.modules.find(({ prices }) => prices)?.prices ?? []);
  try {
    return await runSchedule(options, random);
  } finally {
    for (const [name, value] of Object.entries({ VAT, PLAN_PRICES })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    Math.random = actual;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function runSchedule({ modules, steps, bug, trace }: Options, random: Random): Promise<Outcome> {
  const weather = drawWeather(random);
  const opened = modules.map((module) => module.open(random.fork(), bug));
  const actors = opened.flatMap((module) => module.actors);
  const newInvariants = (): Invariant[] => opened.flatMap((module) => module.invariants());
  const invariants = newInvariants();
  const store = createMemoryStore();
  const waiting: Waiting[] = [];
  let processes: Process[] = [];
  let nowMs = startsAt;
  let committed: Change[] = [];
  store.onCommit = (changes) => {
    committed.push(...changes);
  };
  const { note, digest, tail } = createTrace(trace);
  const outcome = { steps: 0, commits: 0, deaths: 0, faults: 0 };

  const worldOf = (process: Process): World => {
    const step = (point: string, faults: readonly Fault[], lasts = 0) =>
      new Promise<Fault | undefined>((go) => {
        if (!process.hasEnded) waiting.push({ process, point, from: outcome.steps + lasts, faults, go });
      });
    return {
      table: openMemoryTable(store, {
        step,
        shuffle: random.shuffle,
        pageSize: 3,
        runs: 12,
        ...(bug ? { rewrite: (write) => (bug(write) ? withoutCondition(write) : write) } : {}),
      }),
      now: () => new Date(nowMs),
      pause: async (point, steps) => {
        if (await step(point, ["lost"], steps))
          throw new Problem("upstream_unavailable", "No answer. Try again.", { retry_after: 1 });
      },
      peek: (key) => peek(store, key),
      watch: (look) => {
        process.watchers.add(look);
        look();
        return () => void process.watchers.delete(look);
      },
      note: (text) => note(`  ${nameOf(process)} ${text}`),
    };
  };

  const start = (actor: Actor): Process => {
    const process: Process = { id: (lastId += 1), actor, hasEnded: false, watchers: new Set() };
    processes.push(process);
    note(`start ${nameOf(process)}`);
    process.actor
      .run(worldOf(process), random.fork())
      .catch((error: unknown) => (process.failure = error ?? new Error("nothing was thrown")))
      .finally(() => (process.hasEnded = true));
    return process;
  };
  let lastId = 0;

  const end = (process: Process): void => {
    process.hasEnded = true;
    processes = processes.filter((one) => one !== process);
    for (let index = waiting.length - 1; index >= 0; index--) {
      if (waiting[index]?.process === process) waiting.splice(index, 1);
    }
  };

  /** Starts a process, or lets a waiting process go on or die. Returns the process, or undefined if it died. */
  const move = (): Process | undefined => {
    const ready = waiting.filter(({ from }) => from <= outcome.steps);
    if (processes.length < weather.processes && random.chance(ready.length === 0 ? 1 : 0.3)) {
      return start(random.weighted(actors));
    }
    const turn = random.pick(ready.length === 0 ? waiting : ready);
    waiting.splice(waiting.indexOf(turn), 1);
    const { process, point, faults, go } = turn;
    if (random.chance(weather.death)) {
      outcome.deaths += 1;
      note(`death ${nameOf(process)} at ${point}`);
      end(process);
      return undefined;
    }
    const fault = faults.length > 0 && random.chance(weather.fault) ? random.pick(faults) : undefined;
    if (fault) outcome.faults += 1;
    note(`${fault ?? "go"} ${nameOf(process)} ${point}`);
    go(fault);
    return process;
  };

  const check = (): void => {
    if (committed.length === 0) return;
    const changes = committed;
    committed = [];
    outcome.commits += 1;
    for (const { check } of invariants) check(changes);
    for (const { watchers } of processes) for (const look of watchers) look();
  };

  /** Ends all processes, and runs one more process without faults. */
  const rest = async (run: Actor["run"]): Promise<void> => {
    for (const process of processes) end(process);
    const process = start({ name: "rest", weight: 1, run });
    for (; !process.hasEnded; outcome.steps++) {
      await settled(process, () => waiting.length > 0);
      check();
      waiting.shift()?.go(undefined);
    }
    if (process.failure !== undefined) throw failureOf(process);
  };

  try {
    const before = worldBefore(openMemoryTable(store), new Date(nowMs), (key) => peek(store, key));
    for (const { prepare } of opened) await prepare?.(before);
    for (; outcome.steps < steps; outcome.steps++) {
      if (random.chance(weather.clock)) nowMs += random.between(1, weather.longestMs);
      const process = move();
      if (process) await settled(process, () => waiting.some((one) => one.process === process));
      check();
      if (process?.failure !== undefined) throw failureOf(process);
      if (process?.hasEnded) end(process);
    }
    for (const { quiet } of opened) if (quiet) await rest(quiet);
    const all = everything(store).map((item: Item): Change => ({ key: item, before: undefined, after: item }));
    for (const { check } of newInvariants()) check(all);
    return { ...outcome, digest: digest(), tail };
  } catch (error) {
    return { ...outcome, digest: digest(), tail, violation: violationOf(error) };
  }
}

function withoutCondition(write: Write): Write {
  const { if: _, ...rest } = write;
  return rest;
}
