import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";
import * as z from "zod";

import type { Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import { once } from "./memory-once.ts";
import { createMemoryStore, openMemoryTable, peek, type Fault } from "./memory-table.ts";
import { testTable } from "./world.ts";

const PK = `TEST#${randomUUID()}`;
const put = (SK: string, more: Record<string, unknown> = {}): Write => ({ put: { ...more, PK, SK } });
const memoryTable = () => openMemoryTable(createMemoryStore());

/** The outcome of a transaction, and the stored items after it. */
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
])("neither table takes %s, and nothing of it is stored", async ([, writes]) => {
  expect(await after(testTable(), writes())).toEqual(refused);
  expect(await after(memoryTable(), writes())).toEqual(refused);
});

test("operations that DynamoDB refuses and the engine takes are refused in memory", async () => {
  const update = { PK, SK: "1" };
  expect(await after(memoryTable(), [put("0"), { update, set: { SK: "2" } }])).toEqual(refused);
  expect(await after(memoryTable(), [put("0"), { update, set: { a: 1 }, remove: ["a"] }])).toEqual(refused);
});

test("100 actions and an item of nearly 400 KB are taken by both", async () => {
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

test("a change that stays contested is busy, and changes nothing", async () => {
  const store = createMemoryStore();
  const writes: Write[] = [{ put: key }, { check: { ...key, SK: "never there" }, if: "present" }];
  await expect(openMemoryTable(store).commit(async () => ({ value: 1, writes }))).rejects.toMatchObject({
    code: "busy",
  });
  expect(peek(store, key)).toBeUndefined();
});

test("changes of written and read items do not change the table", async () => {
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

test("a process that stops for ever before its commit leaves nothing, and after it everything", async () => {
  for (const [at, stored] of [
    ["commit", undefined],
    ["answer", 1],
  ] as const) {
    const store = createMemoryStore();
    const step = (point: string) =>
      new Promise<undefined>((resolve) => void (point.startsWith(at) || resolve(undefined)));
    void increment(openMemoryTable(store, { step }));
    await new Promise(setImmediate);
    expect(peek(store, key)?.["count"]).toBe(stored);
  }
});

test("a transaction may fall between two items of a batch or two pages of a range, and never into an item", async () => {
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
