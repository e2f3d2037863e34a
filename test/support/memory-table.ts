import { Problem } from "../../shared/core/errors.ts";
import type { Plan } from "../../shared/table/commit.ts";
import { tooBusy } from "../../shared/table/failures.ts";
import type { RangeOptions } from "../../shared/table/reads.ts";
import type { Attempt, Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import { compareText, copyOfAttributes, requireKey, scalarsOf, validationError } from "./memory-items.ts";
import { holds, keyOf, requireTransaction, requireWrite, resultOf, updatedAttributes } from "./memory-writes.ts";

/** The change of one item by a write. A stored item never changes; a new item replaces it. */
export type Change = { key: Key; before: Item | undefined; after: Item | undefined };

/** The committed items, and the function that is called after every commit. */
export type MemoryStore = { partitions: Map<string, Map<string, Item>>; onCommit: (changes: Change[]) => void };

/**
 * The faults of one call. A throttled call or a call in conflict is not done. The caller of a lost call does not know
 * whether the call was done.
 */
export type Fault = "throttled" | "conflict" | "lost";

/**
 * A function that is called before every call of the table, and again before the answer to a write. The call waits for
 * the function. The function returns one of the possible faults, or none.
 */
export type Step = (point: string, faults: readonly Fault[]) => Promise<Fault | undefined>;

type Options = {
  step?: Step;
  /** Orders the items of a batch. Each item is read at a moment of its own. */
  shuffle?: <T>(all: readonly T[]) => readonly T[];
  /** The number of items of a range that are read at one moment. */
  pageSize?: number;
  /** The number of runs of a plan before the caller gets the error that the table is busy. */
  runs?: number;
  /** Changes a write before it is done, to plant mistakes. */
  rewrite?: (write: Write) => Write;
};

type Opened = { store: MemoryStore } & Required<Options>;

export const createMemoryStore = (): MemoryStore => ({ partitions: new Map(), onCommit: () => undefined });

/** The committed item of a key at this moment. */
export const peek = ({ partitions }: MemoryStore, { PK, SK }: Key): Item | undefined => partitions.get(PK)?.get(SK);

/** All committed items, in the order of their keys. */
export const everything = ({ partitions }: MemoryStore): Item[] =>
  [...partitions.keys()].toSorted(compareText).flatMap((name) => inOrder([...(partitions.get(name)?.values() ?? [])]));

const inOrder = (items: readonly Item[]): Item[] => items.toSorted((a, b) => compareText(a.SK, b.SK));

/**
 * A table in memory with DynamoDB's rules, for tests that order the steps of several processes. A transaction is done
 * as a whole or not at all. Reads see the committed items. As in DynamoDB, the items of a batch and of a range are read
 * at different moments: a transaction can commit between two of them.
 */
export function openMemoryTable(store: MemoryStore, options: Options = {}): Table {
  const opened: Opened = {
    store,
    step: async () => undefined,
    shuffle: (all) => all,
    pageSize: 1_000,
    runs: 30,
    rewrite: (write) => write,
    ...options,
  };
  const get: Table["get"] = async (key, schema) => {
    const item = await readItem(opened, key);
    return item === undefined ? undefined : schema.parse(item);
  };
  return {
    get,
    // Older versions that a glimpse could return are not simulated.
    glimpse: get,
    getMany: (keys) => getMany(opened, keys),
    between: (partition, from, to, range) => between(opened, partition, from, to, range),
    attempt: (write) => attempt(opened, write),
    commit: (plan) => commit(opened, plan),
  };
}

const nameOf = ({ PK, SK }: Key): string => `${PK} ${SK}`;

async function readItem({ store, step }: Opened, key: Key): Promise<Item | undefined> {
  requireKey(key);
  refuse(await step(`read ${nameOf(key)}`, ["throttled", "lost"]));
  const item = peek(store, key);
  return item && copyOfAttributes(item);
}

async function getMany(opened: Opened, keys: readonly Key[]): Promise<(Item | undefined)[]> {
  const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
  const found = new Map<string, Item | undefined>();
  for (const key of opened.shuffle(distinct)) found.set(nameOf(key), await readItem(opened, key));
  return keys.map((key) => found.get(nameOf(key)));
}

async function between(
  { store, step, pageSize }: Opened,
  partition: string,
  from: string,
  to: string,
  { limit = Infinity, newestFirst = false }: RangeOptions = {},
): Promise<Item[]> {
  if (compareText(from, to) > 0) throw validationError("The BETWEEN operator requires upper bound to be greater");
  const items: Item[] = [];
  for (;;) {
    refuse(await step(`query ${partition} ${from} to ${to}`, ["throttled", "lost"]));
    const last = items.at(-1)?.SK;
    const isLeft = ({ SK }: Item) =>
      compareText(from, SK) <= 0 &&
      compareText(SK, to) <= 0 &&
      (last === undefined || (newestFirst ? compareText(SK, last) < 0 : compareText(SK, last) > 0));
    const left = inOrder([...(store.partitions.get(partition)?.values() ?? [])].filter(isLeft));
    const page = (newestFirst ? left.toReversed() : left).slice(0, Math.min(pageSize, limit - items.length));
    items.push(...page.map(copyOfAttributes));
    if (page.length === left.length || items.length >= limit) return items;
  }
}

/** Throws the error that a caller of the real table gets after the SDK's own retries. */
function refuse(fault: Fault | undefined): void {
  if (fault === "lost") {
    throw new Problem("upstream_unavailable", "The table does not answer. Try again.", { retry_after: 2 });
  }
  if (fault === "conflict") throw tooBusy();
  if (fault) throw new Problem("busy", "The table is throttled. Try again.", { retry_after: 1 });
}

async function attempt({ store, step, rewrite }: Opened, asked: Write): Promise<Attempt> {
  const write = rewrite(asked);
  if ("check" in write) throw new Error("A check alone is not a write.");
  requireWrite(write);
  const key = keyOf(write);
  refuse(await step(`write ${nameOf(key)}`, ["throttled", "conflict", "lost"]));
  const before = peek(store, key);
  const isDone = holds(write.if, before);
  const after = isDone ? resultOf(write, before) : before;
  if (isDone) apply(store, [{ key, before, after }]);
  refuse(await step(`answer to write ${nameOf(key)}`, ["lost"]));
  return isDone ? { done: true, updated: updatedAttributes(write, after) } : { done: false, found: scalarsOf(before) };
}

async function commit<T>(opened: Opened, plan: () => Promise<Plan<T>>): Promise<T> {
  for (let run = 0; run < opened.runs; run++) {
    const { writes, value } = await plan();
    if (writes.length === 0) return value;
    if (await transact(opened, writes.map(opened.rewrite))) return value;
  }
  throw tooBusy();
}

/** Returns whether the transaction was committed. Throws the error of a failed write that has an `orElse`. */
async function transact({ store, step }: Opened, writes: readonly Write[]): Promise<boolean> {
  requireTransaction(writes);
  const fault = await step(`commit ${writes.map((write) => keyOf(write).SK).join(", ")}`, [
    "throttled",
    "conflict",
    "lost",
  ]);
  if (fault === "conflict") return false;
  refuse(fault);
  const failed = writes.filter((write) => !holds(write.if, peek(store, keyOf(write))));
  if (failed.length === 0)
    apply(
      store,
      writes.map((write) => changeOf(store, write)),
    );
  refuse(await step(failed.length === 0 ? "answer: committed" : "answer: refused", ["lost"]));
  const refused = failed.find(({ orElse }) => orElse);
  if (refused?.orElse) throw refused.orElse(scalarsOf(peek(store, keyOf(refused))));
  return failed.length === 0;
}

function changeOf(store: MemoryStore, write: Write): Change {
  const key = keyOf(write);
  const before = peek(store, key);
  return { key, before, after: resultOf(write, before) };
}

function apply(store: MemoryStore, changes: readonly Change[]): void {
  const changed = changes.filter(({ before, after }) => before !== after);
  for (const { key, after } of changed) {
    const items = store.partitions.get(key.PK) ?? new Map<string, Item>();
    store.partitions.set(key.PK, items);
    if (after) items.set(key.SK, after);
    else items.delete(key.SK);
  }
  if (changed.length > 0) store.onCommit(changed);
}
