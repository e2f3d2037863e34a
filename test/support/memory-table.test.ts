import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";

import type { Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import { createMemoryStore, openMemoryTable, peek, type Fault } from "./memory-table.ts";
import type { Attributes } from "./memory-writes.ts";
import { throughSdk } from "./table-calls.ts";
import { testTable } from "./world.ts";

const PK = `TEST#${randomUUID()}`;
const put = (SK: string, more: Record<string, unknown> = {}): Write => ({ put: { ...more, PK, SK } });
const memoryTable = () => openMemoryTable(createMemoryStore());

/** Commits with one run of the plan. Throws `contention` if the plan runs again, because the first run lost a race. */
const once = (table: Table, writes: Write[]) => {
  let runs = 0;
  return table.commit(async () => {
    if (runs++ > 0) throw new Error("contention");
    return { writes, value: "committed" };
  });
};

/** The outcome of a transaction, and the number of stored items after it. */
async function after(table: Table, writes: Write[]): Promise<{ outcome: string; stored: number }> {
  const outcome = await once(table, writes).catch((error: Error) =>
    error.message === "contention" ? "contention" : "refused",
  );
  return { outcome, stored: (await table.between(PK, "0", "z")).length };
}

const refused = { outcome: "refused", stored: 0 };

test.for<[string, () => Write[]]>([
  ["101 actions", () => Array.from({ length: 101 }, (_, index) => put(String(index)))],
  ["two actions on one item", () => [put("0"), put("1"), { check: { PK, SK: "1" }, if: "absent" }]],
  ["an item over 400 KB", () => [put("0"), put("1", { text: "x".repeat(400 * 1024) })]],
  ["an empty key", () => [put("0"), put("")]],
  ["a number that is not exact", () => [put("0"), put("1", { amount: 2 ** 53 })]],
  ["a number that is none", () => [put("0"), put("1", { amount: Number.NaN })]],
])("the test engine and the table in memory both refuse %s, and store nothing", async ([, writes]) => {
  expect(await after(testTable(), writes())).toEqual(refused);
  expect(await after(memoryTable(), writes())).toEqual(refused);
});

test("the table in memory refuses operations that DynamoDB refuses, even if the test engine accepts them", async () => {
  const update = { PK, SK: "1" };
  expect(await after(memoryTable(), [put("0"), { update, set: { SK: "2" } }])).toEqual(refused);
  expect(await after(memoryTable(), [put("0"), { update, set: { a: 1 }, remove: ["a"] }])).toEqual(refused);
});

test("the test engine and the table in memory both accept 100 actions, and an item of nearly 400 KB", async () => {
  const writes = Array.from({ length: 100 }, (_, index) => ({
    put: { PK: `${PK}full`, SK: String(index), ...(index === 0 ? { text: "x".repeat(400 * 1024 - 200) } : {}) },
  }));
  for (const table of [testTable(), memoryTable()]) {
    await once(table, writes);
    expect(await table.between(`${PK}full`, "0", "9999")).toHaveLength(100);
  }
});

const key: Key = { PK: "P", SK: "S" };
const Count = z.object({ count: z.int() });

const increment = (table: Table) =>
  table.commit(async () => {
    const { count } = (await table.get(key, Count)) ?? { count: 0 };
    return { value: count, writes: [{ put: { ...key, count: count + 1 }, if: count === 0 ? "absent" : { count } }] };
  });

test("a plan that lost a race reads again and wins", async () => {
  const table = memoryTable();
  const seen = await Promise.all(Array.from({ length: 12 }, () => increment(table)));
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index));
});

test("a change that stays contested fails with `busy`, and changes nothing", async () => {
  const store = createMemoryStore();
  const writes: Write[] = [{ put: key }, { check: { ...key, SK: "never there" }, if: "present" }];
  await expect(openMemoryTable(store).commit(async () => ({ value: 1, writes }))).rejects.toMatchObject({
    code: "busy",
  });
  expect(peek(store, key)).toBeUndefined();
});

test("a change of an item after it was written or read does not change the table", async () => {
  const table = memoryTable();
  const item = { ...key, list: [{ count: 1 }] };
  await table.attempt({ put: item });
  item.list.push({ count: 2 });
  const [read] = await table.getMany([key]);
  Object.assign(read ?? {}, { more: true });
  Object.assign(Object(read?.["list"]), { 0: "another" });
  expect(await table.getMany([key])).toEqual([{ ...key, list: [{ count: 1 }] }]);
});

test.for<[Fault, string, string, number]>([
  ["throttled", "commit", "busy", 0],
  ["lost", "commit", "upstream_unavailable", 0],
  ["lost", "answer", "upstream_unavailable", 1],
  ["conflict", "commit", "none", 1],
])("%s at %s: the caller sees %s, and %i is stored", async ([fault, at, code, stored]) => {
  const store = createMemoryStore();
  let left = 1;
  const step = async (point: string) => (point.startsWith(at) && left-- > 0 ? fault : undefined);
  const outcome = await increment(openMemoryTable(store, { step })).then(
    () => "none",
    (error: { code: string }) => error.code,
  );
  expect(outcome).toBe(code);
  expect(peek(store, key)?.["count"] ?? 0).toBe(stored);
});

test("a process that stops for ever before its commit leaves nothing, and after its commit everything", async () => {
  for (const [at, stored] of [
    ["commit", undefined],
    ["answer", 1],
  ] as const) {
    const store = createMemoryStore();
    const step = (point: string) =>
      new Promise<undefined>((resolve) => {
        if (!point.startsWith(at)) resolve(undefined);
      });
    void increment(openMemoryTable(store, { step }));
    await new Promise(setImmediate);
    expect(peek(store, key)?.["count"]).toBe(stored);
  }
});

test("a transaction can come between two items of a batch or two pages of a range, but not into an item", async () => {
  const store = createMemoryStore();
  const items = (count: number) => ["1", "2"].map((SK) => ({ put: { PK: "P", SK, count, twice: 2 * count } }));
  await once(openMemoryTable(store), items(1));
  let reads = 0;
  const step = async (): Promise<undefined> => {
    if (++reads % 2 === 0) await once(openMemoryTable(store), items(reads));
  };
  const table = openMemoryTable(store, { step, pageSize: 1 });
  const keys = ["1", "2"].map((SK) => ({ PK: "P", SK }));
  const counts = (all: readonly (Item | undefined)[]) => all.map((item) => [item?.["count"], item?.["twice"]]);
  expect(counts(await table.getMany(keys))).toEqual([
    [1, 2],
    [2, 4],
  ]);
  expect(counts(await table.between("P", "1", "2"))).toEqual([
    [2, 4],
    [4, 8],
  ]);
});

type Condition = NonNullable<Write["if"]>;

const name = fc.constantFrom("a", "b", "c");
const text = fc.constantFrom("", "x", "y", "é", "\ue000", "😀");
const scalar = fc.oneof(fc.integer({ min: -3, max: 3 }), text, fc.boolean());
const bound = fc.oneof(fc.integer({ min: -3, max: 3 }), text);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.constant(undefined),
  fc.constant(null),
  fc.array(fc.option(scalar, { nil: undefined }), { maxLength: 3 }),
  fc.dictionary(name, fc.option(scalar, { nil: undefined }), { maxKeys: 2 }),
  fc.uint8Array({ maxLength: 4 }),
);
const expected = fc.oneof(scalar, fc.record({ atMost: bound }), fc.record({ above: bound }));
const attributes = fc.dictionary(name, expected, { minKeys: 1, maxKeys: 2 }) as fc.Arbitrary<Attributes>;
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.constant("absent" as const),
  fc.constant("present" as const),
  attributes,
  attributes.map((absentOr) => ({ absentOr })),
);
const values = fc.dictionary(name, value, { maxKeys: 3 });
const sums = fc.dictionary(name, fc.integer({ min: -3, max: 3 }), { maxKeys: 2 });

/** A write of the item with this sort key. The error of `orElse` has the item that was found. */
const writeOf = (SK: string): fc.Arbitrary<Write> => {
  const key: Key = { PK: "?", SK };
  const action = fc.oneof(
    { weight: 3, arbitrary: values.map((item) => ({ put: { ...item, ...key } })) },
    {
      weight: 3,
      arbitrary: fc
        .record({ set: values, add: sums, remove: fc.uniqueArray(name) }, { requiredKeys: [] })
        .map((update) => ({ update: key, ...disjoint(update) })),
    },
    fc.constant({ delete: key }),
    fc.constant({ check: key }),
  );
  const more = fc.record({ if: condition, tells: fc.boolean() }, { requiredKeys: [] });
  return fc.tuple(action, more).map(([write, { tells, ...conditional }]) => ({
    ...write,
    ...conditional,
    ...(tells
      ? { orElse: (found: Record<string, string>) => new Error(`found ${JSON.stringify(sorted(found))}`) }
      : {}),
  }));
};

type Update = { set?: Record<string, unknown>; add?: Record<string, number>; remove?: string[] };

/**
 * An update that names each attribute once, and at least one. DynamoDB requires both, but the test engine does not
 * always.
 */
function disjoint({ set = {}, add = {}, remove = [] }: Update): Update {
  const added = Object.fromEntries(Object.entries(add).filter(([name]) => !(name in set)));
  const isEmpty = Object.values(set).every((value) => value === undefined) && Object.keys(added).length === 0;
  const removed = remove.filter((name) => !(name in set) && !(name in added));
  return { set, add: added, remove: isEmpty && removed.length === 0 ? ["d"] : removed };
}

const sorted = (record: Record<string, unknown>) => Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));

const sortKey = fc.constantFrom("1", "2", "\ue000", "😀");
const step = fc.oneof(
  { weight: 2, arbitrary: sortKey.chain(writeOf).map((write) => ({ attempt: write })) },
  {
    weight: 4,
    arbitrary: fc
      .uniqueArray(sortKey, { maxLength: 3 })
      .chain((keys) => fc.tuple(...keys.map(writeOf)))
      .map((commit) => ({ commit })),
  },
  { weight: 1, arbitrary: fc.tuple(writeOf("1"), writeOf("1")).map((commit) => ({ commit })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ from: sortKey, to: sortKey, limit: fc.integer({ min: 1, max: 3 }), newestFirst: fc.boolean() })
      .map((range) => ({ range })),
  },
);

/** The same write in another partition. */
const placed = <W extends Write>(write: W, PK: string): W =>
  Object.fromEntries(
    Object.entries(write).map(([member, one]) => [
      member,
      ["put", "update", "delete", "check"].includes(member) ? { ...(one as Key), PK } : one,
    ]),
  ) as W;

/** What a caller of the table sees: the answer, or the error. The messages of an invalid request may differ. */
async function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.message.startsWith("found ")) return { error: error.message };
    if ("code" in error) return { error: error.code };
    return { error: isInvalid(error) ? "invalid" : error.message };
  }
}

const isInvalid = ({ name }: Error) => name === "ValidationException" || name === "TransactionCanceledException";

const withoutPartition = (item: Item | undefined) => (item ? { ...item, PK: "" } : item);

async function play(table: Table, partition: string, steps: readonly Step[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (const step of steps) {
    seen.push(
      await outcomeOf(async () => {
        if ("attempt" in step) {
          const { done, ...rest } = await table.attempt(placed(step.attempt, partition));
          return { done, ...rest, ...("found" in rest ? { found: { ...rest.found, PK: "" } } : {}) };
        }
        if ("commit" in step)
          return once(
            table,
            step.commit.map((write) => placed(write, partition)),
          );
        const { from, to, ...options } = step.range;
        return (await table.between(partition, from, to, options)).map(withoutPartition);
      }),
    );
    const keys = ["1", "2", "\ue000", "😀", "none", "1"].map((SK) => ({ PK: partition, SK }));
    seen.push((await table.getMany(keys)).map(withoutPartition));
  }
  return JSON.parse(JSON.stringify(seen).replaceAll(partition, "")) as unknown[];
}

type Step =
  | { attempt: Write }
  | { commit: Write[] }
  | { range: { from: string; to: string; limit: number; newestFirst: boolean } };

test(
  "random writes have the same results on the table in memory as on the test engine",
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step as fc.Arbitrary<Step>, { minLength: 1, maxLength: 12 }), async (steps) => {
        const played = (table: Table) => play(table, `TEST#${randomUUID()}`, steps);
        const expected = await throughSdk(() => played(testTable()));
        expect(await played(openMemoryTable(createMemoryStore()))).toEqual(expected);
        // The product's own client gives the same outcome as the SDK.
        expect(await played(testTable())).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  },
);
