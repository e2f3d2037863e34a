import { Problem } from "../../shared/core/errors.ts";
import { postedOf } from "../../shared/ledger/balance.ts";
import { movementKey, readBalance, readEntries, type Ledger } from "../../shared/ledger/ledger.ts";
import type { Operation } from "../../shared/ledger/movement.ts";
import type { Write } from "../../shared/table/writes.ts";
import { ledgerInvariant } from "./ledger-books.ts";
import { insist } from "./ledger-operations.ts";
import type { Random } from "./random.ts";
import { mustHold, type Actor, type Module, type World } from "./world.ts";

/**
 * The state that all actors of a schedule share: the ledger, and all operations that were ever asked for, done or not.
 */
type Scene = {
  ledger: Ledger;
  wallets: readonly string[];
  /** The largest amount of a top-up. If it is small, actors compete for the rest of the money. */
  most: number;
  asked: Operation[];
  holds: string[];
  ids: number;
};

const sortKeyOf = (write: Write): string => ("put" in write ? write.put.SK : "");
const isOf = (write: Write, family: string): boolean => sortKeyOf(write).startsWith(`LEDGER#${family}#`);

/** The ledger alone: a few wallets, and all operations on them by callers that die and repeat. */
export const ledgerModule: Module = {
  name: "ledger",
  bugs: {
    "balance-version": (write) => isOf(write, "BALANCE"),
    "movement-absent": (write) => isOf(write, "MOVEMENT") && write.if === "absent",
    "hold-status": (write) => isOf(write, "MOVEMENT") && typeof write.if === "object",
  },
  open: (random) => {
    const wallets = Array.from({ length: random.between(1, 3) }, (_, index) => `wallet-${index + 1}`);
    const ledger = { partition: "SIMULATED#LEDGER", limited: wallets };
    const scene: Scene = { ledger, wallets, most: random.pick([6, 30]), asked: [], holds: [], ids: 0 };
    return { actors: actorsOf(scene), invariants: () => [ledgerInvariant(ledger)] };
  },
};

const actorsOf = (scene: Scene): Actor[] => [
  asking(scene, "top-up", 3, topUp),
  asking(scene, "spend", 4, spend),
  asking(scene, "hold", 4, hold),
  asking(scene, "resolve", 5, resolve),
  asking(scene, "repeat", 3, repeat),
  asking(scene, "misuse", 1, misuse),
  { name: "several", weight: 2, run: (world, random) => several(scene, world, random) },
  { name: "read", weight: 1, run: (world, random) => read(scene, world, random) },
];

type Make = (scene: Scene, random: Random, world: World) => Operation;

const asking = (scene: Scene, name: string, weight: number, make: Make): Actor => ({
  name,
  weight,
  run: async (world, random) => {
    await askFor(scene, world, [scene.asked.length === 0 ? topUp(scene, random) : make(scene, random, world)]);
  },
});

async function askFor(scene: Scene, world: World, operations: readonly Operation[]): Promise<void> {
  scene.asked.push(...operations);
  world.note(`asks: ${operations.map((operation) => JSON.stringify(operation)).join(" ")}`);
  await insist(world, scene.ledger, operations);
}

const newId = (scene: Scene): string => `m${(scene.ids += 1)}`;

const topUp = (scene: Scene, random: Random): Operation => ({
  kind: "transfer",
  id: newId(scene),
  debit: "outside",
  credit: random.pick(scene.wallets),
  amount: random.between(1, scene.most),
  code: "top_up",
});

function spend(scene: Scene, random: Random): Operation {
  const debit = random.pick(scene.wallets);
  const credit = random.pick(["revenue", ...scene.wallets].filter((account) => account !== debit));
  return { kind: "transfer", id: newId(scene), debit, credit, amount: random.between(1, 9), code: "spend" };
}

function hold(scene: Scene, random: Random, world: World): Operation {
  const expiresAt = new Date(world.now().getTime() + random.between(1, 100_000)).toISOString();
  const id = newId(scene);
  scene.holds.push(id);
  return {
    kind: "hold",
    id,
    debit: random.pick(scene.wallets),
    credit: "revenue",
    amount: random.between(1, 9),
    code: "purchase",
    ...(random.chance(0.7) ? { expiresAt } : {}),
  };
}

/**
 * Resolves a hold, in most cases a pending hold. Another process may resolve the same hold first. Sometimes the hold
 * was never made.
 */
function resolve(scene: Scene, random: Random, { peek }: World): Operation {
  const pending = scene.holds.slice(-30).filter((id) => peek(movementKey(scene.ledger, id))?.["status"] === "pending");
  const holds = pending.length > 0 && random.chance(0.8) ? pending : scene.holds;
  const id = holds.length === 0 ? "none" : random.pick(holds.slice(-6));
  const kind = random.pick(["capture", "capture", "void", "expire"] as const);
  if (kind !== "capture") return { kind, id };
  return { kind, id, ...(random.chance(0.5) ? { amount: random.between(1, 9) } : {}) };
}

/** Repeats an operation, mostly one of the last three. The first caller may still be at work, or may be dead. */
const repeat = ({ asked }: Scene, random: Random): Operation =>
  random.pick(random.chance(0.7) ? asked.slice(-3) : asked);

/** Uses the id of another operation for another amount. */
function misuse(scene: Scene, random: Random): Operation {
  const taken = random.pick(scene.asked);
  return { ...taken, amount: random.between(1, 9) } as Operation;
}

/**
 * Asks for several operations in one transaction. One operation can resolve a hold of the same transaction, or use the
 * id of another operation.
 */
async function several(scene: Scene, world: World, random: Random): Promise<void> {
  const makes: readonly Make[] = [topUp, spend, hold, resolve, misuse];
  const operations = Array.from({ length: random.between(2, 4) }, () =>
    (scene.asked.length === 0 ? topUp : random.pick(makes))(scene, random, world),
  );
  await askFor(scene, world, operations);
}

/** Reads the last entries of an account. No entry may be missing, and the entries must add up to the balance. */
async function read({ ledger, wallets }: Scene, { table }: World, random: Random): Promise<void> {
  try {
    const account = random.pick([...wallets, "revenue", "outside"]);
    const balance = await readBalance(table, ledger, account);
    const from = Math.max(0, balance.entries - random.between(1, 12));
    const rows = await readEntries(table, ledger, account, from, balance.entries - 1);
    mustHold(rows.length === balance.entries - from, () => `${account} lacks some of its ${balance.entries} entries`);
    // If the first entries are not read, the sum begins with the balance after the first row.
    let sum = from === 0 ? 0 : undefined;
    for (const { direction, amount, balance_after } of rows) {
      const change = direction === "credit" ? amount : -amount;
      const next = sum === undefined ? balance_after : sum + change;
      mustHold(balance_after === next, () => `an entry of ${account} says ${balance_after} and not ${next}`);
      sum = next;
    }
    mustHold(sum === postedOf(balance), () => `the entries of ${account} lead up to ${sum}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}
