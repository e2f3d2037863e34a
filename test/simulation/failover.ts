import { checkLedger } from "../../shared/ledger/check.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import { createMemoryStore, everything, openMemoryTable, type Change } from "../support/memory-table.ts";
import type { Outcome } from "./engine.ts";
import {
  type FailoverBug,
  type Intent,
  ledger,
  NotWriter,
  perform,
  type Planet,
  type Region,
  takeOver,
} from "./failover-protocol.ts";
import { violationOf } from "./process.ts";
import { createRandom, type Random } from "./random.ts";
import { createTrace } from "./trace.ts";
import { mustHold } from "./world.ts";

/**
 * `leaseSteps` is the number of steps that `west` may act without contact to the directory. `callSteps` is the largest
 * number of steps that a call to a provider takes.
 */
const [leaseSteps, callSteps] = [20, 30];

/** A process, and the calls for which it waits. It can wait for several calls at once. */
type Process = { name: string; waiting: (() => void)[]; isOver: boolean; restart: () => void; failure?: unknown };

type Options = {
  seed: number;
  steps: number;
  bug?: FailoverBug | undefined;
  trace?: ((line: string) => void) | undefined;
};

/**
 * Runs one schedule of an account whose writer region fails. Callers top up and buy names in `west`. The table of
 * `west` is copied to `east` item by item, and late. In most runs `west` is cut off at some step, and `east` takes
 * over. In half of these runs all processes die at this step, and start again. In some runs processes also die at other
 * steps. In the end every caller must have an answer, and the providers and the ledger must agree.
 */
export async function simulateFailover({ seed, steps, bug, trace }: Options): Promise<Outcome> {
  const random = createRandom(seed);
  const { note, digest, tail } = createTrace(trace);
  const counts = { steps: 0, commits: 0, deaths: 0, faults: 0 };
  const globe = createGlobe(random, counts, bug, note);
  try {
    const intents = newIntents(random);
    for (const intent of intents) globe.start(intent.id, () => perform(globe.planet, intent, random));
    await globe.run(steps);
    await check(globe.planet, intents);
    return { ...counts, digest: digest(), tail };
  } catch (error) {
    return { ...counts, digest: digest(), tail, violation: violationOf(error) };
  }
}

/** Top-ups of 10 to 30, and purchases of names for 5 to 15 each. The money may not be enough for every name. */
const newIntents = (random: Random): Intent[] => [
  ...[1, 2, 3].map((number) => ({ kind: "topup" as const, id: `t${number}`, amount: random.between(10, 30) })),
  ...[1, 2, 3, 4].map((number) => ({
    kind: "purchase" as const,
    id: `p${number}`,
    amount: random.between(5, 15),
    isPossible: random.chance(0.7),
  })),
];

function createGlobe(
  random: Random,
  counts: { steps: number; commits: number; deaths: number; faults: number },
  bug: FailoverBug | undefined,
  note: (line: string) => void,
) {
  const stores = { west: createMemoryStore(), east: createMemoryStore() };
  const directory = { writer: "west" as Region | undefined, isCut: false, leaseUntil: leaseSteps };
  const processes: Process[] = [];
  const effects: { at: number; effect: () => void }[] = [];
  /** The changes that are not copied from `west` to `east` yet. A global table copies each item by itself. */
  const copies: Change[] = [];
  let isCopying = true;
  let current: Process | undefined;
  stores.west.onCommit = (changes) => {
    counts.commits += 1;
    copies.push(...changes);
  };
  stores.east.onCommit = () => (counts.commits += 1);

  const turn = (point: string): Promise<void> =>
    new Promise((go) => {
      const process = current;
      if (!process || process.isOver) return;
      process.waiting.push(() => {
        note(`${process.name} ${point}`);
        go();
      });
    });
  const planet: Planet = {
    stores,
    writer: () => directory.writer,
    turn,
    requireLease: (region) => {
      if (bug === "no-fencing" && region === "west") return;
      const isLeased = region === "west" ? counts.steps < directory.leaseUntil : directory.writer === "east";
      if (!isLeased) throw new NotWriter();
    },
    call: async (effect) => {
      const answer = { isThere: false };
      effects.push({
        at: counts.steps + random.between(0, callSteps),
        effect: () => {
          effect();
          answer.isThere = true;
        },
      });
      while (!answer.isThere) await turn("waits for a provider");
    },
    charges: new Map(),
    operations: new Map(),
    bug,
    note: (line) => note(`  ${line}`),
  };

  /** Starts a process. Starts it again if it fails because of the fail-over, or dies. */
  const start = (name: string, work: () => Promise<void>): void => {
    const process: Process = { name, waiting: [], isOver: false, restart: () => start(name, work) };
    processes.push(process);
    current = process;
    work()
      .then(() => (process.isOver = true))
      .catch((error: unknown) => {
        process.isOver = true;
        if (error instanceof NotWriter) process.restart();
        else process.failure = error;
      });
  };

  const die = (process: Process): void => {
    counts.deaths += 1;
    note(`death ${process.name}`);
    process.isOver = true;
    process.waiting = [];
    process.restart();
  };

  /** Copies one change to the table of `east`. Changes of the same key are copied in their order. */
  const copyOne = (): void => {
    const picked = random.pick(copies);
    const first = copies.findIndex(({ key }) => key.PK === picked.key.PK && key.SK === picked.key.SK);
    const [change] = copies.splice(first, 1);
    if (!change) return;
    const items = stores.east.partitions.get(change.key.PK) ?? new Map();
    stores.east.partitions.set(change.key.PK, items);
    if (change.after) items.set(change.key.SK, change.after);
    else items.delete(change.key.SK);
  };

  /** The fail-over as the operator runs it. It can die and begin again at any step. */
  const failOver = async (): Promise<void> => {
    const waits = bug !== "no-wait" && bug !== "no-fencing";
    const openAt = waits ? directory.leaseUntil + callSteps : 0;
    while (counts.steps < openAt) await turn("waits for leases and calls to end");
    directory.writer = undefined;
    if (bug !== "no-fencing") {
      isCopying = false;
      copies.length = 0;
    }
    await takeOver(planet);
    directory.writer = "east";
    note("east is the writer");
  };

  const cutOff = (): void => {
    note("west is cut off");
    directory.isCut = true;
    if (random.chance(0.5)) for (const process of processes.filter((one) => !one.isOver)) die(process);
    start("fail-over", failOver);
  };

  const run = async (steps: number): Promise<void> => {
    const cutAt = random.chance(0.9) ? random.between(5, 120) : Infinity;
    const [deathChance, copyChance] = [random.pick([0, 0.01, 0.05]), random.pick([0.1, 0.5, 0.9])];
    for (; ; counts.steps++) {
      await new Promise((done) => setImmediate(done));
      const failed = processes.find(({ failure }) => failure !== undefined);
      if (failed) throw failed.failure;
      if (counts.steps === cutAt) cutOff();
      if (!directory.isCut) directory.leaseUntil = counts.steps + leaseSteps;
      for (const due of effects.filter(({ at }) => at <= counts.steps)) {
        effects.splice(effects.indexOf(due), 1);
        due.effect();
      }
      if (isCopying && copies.length > 0 && random.chance(copyChance)) copyOne();
      const ready = processes.filter(({ waiting }) => waiting.length > 0);
      if (ready.length === 0 && effects.length === 0 && (!isCopying || copies.length === 0)) return;
      mustHold(counts.steps < steps, () => `${ready.map(({ name }) => name).join(", ")} did not end in ${steps} steps`);
      if (ready.length === 0) continue;
      const next = random.pick(ready);
      if (random.chance(deathChance)) {
        die(next);
        continue;
      }
      current = next;
      const [go] = next.waiting.splice(random.below(next.waiting.length), 1);
      go?.();
    }
  };
  return { planet, start, run };
}

/** Checks the rules that must hold when every caller has an answer. */
async function check(planet: Planet, intents: readonly Intent[]): Promise<void> {
  const { stores, charges, operations } = planet;
  const store = stores[planet.writer() ?? "east"];
  const { problems } = await checkLedger(openMemoryTable(store), ledger, { entries: 1_000 });
  mustHold(problems.length === 0, () => `the ledger: ${problems.join("; ")}`);
  const movements = everything(store)
    .filter(({ SK }) => SK.startsWith("LEDGER#MOVEMENT#"))
    .map((item) => StoredMovement.parse(item));
  const credited = new Map(movements.filter(({ kind }) => kind === "transfer").map(({ id, amount }) => [id, amount]));
  const captured = new Map(
    movements.filter(({ status }) => status === "captured").map(({ id, captured }) => [id, captured]),
  );
  for (const [id, amount] of charges)
    mustHold(credited.get(id) === amount, () => `${id} was paid, and is not credited`);
  for (const id of credited.keys()) mustHold(charges.has(id), () => `${id} is credited, and was not paid`);
  for (const [id, { price, isDone }] of operations) {
    mustHold(
      (captured.get(id) === price) === isDone,
      () => `${id} is ${isDone ? "registered and not paid" : "paid in vain"}`,
    );
  }
  for (const id of captured.keys())
    mustHold(operations.has(id), () => `${id} is captured, and the registrar does not know it`);
  const open = movements.find(({ status }) => status === "pending");
  mustHold(open === undefined, () => `the hold ${open?.id} stays open`);
  for (const { id, kind } of intents) {
    const of = [...(kind === "topup" ? charges : operations).keys()].filter((key) => key.split("/")[0] === id);
    mustHold(of.length <= 1, () => `${id} was done ${of.length} times`);
  }
}
