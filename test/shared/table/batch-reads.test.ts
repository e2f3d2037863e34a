import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";
import * as z from "zod";

import { batchReads } from "../../../shared/table/batch-reads.ts";
import type { Usage } from "../../../shared/table/client.ts";
import { SeenItems } from "../../../shared/table/seen-items.ts";
import { testTable } from "../../support/world.ts";

const Stored = z.object({ text: z.string() });

/** A table with 150 items, each with its sort key as its text. `usage` counts the calls. */
async function scene() {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const plain = testTable(usage);
  const PK = `TEST#${randomUUID()}`;
  const keys = Array.from({ length: 150 }, (_, index) => ({ PK, SK: `ITEM#${index}` }));
  for (const start of [0, 75]) {
    const writes = keys.slice(start, start + 75).map((key) => ({ put: { ...key, text: key.SK } }));
    await plain.commit(async () => ({ writes, value: undefined }));
  }
  usage.calls = 0;
  return { table: batchReads(plain, new SeenItems()), plain, keys, usage, missing: { PK, SK: "MISSING" } };
}

test("concurrent reads are made in one round trip, and each reader gets its own items", async () => {
  const { table, keys, usage, missing } = await scene();
  const [first, second, none, many] = await Promise.all([
    table.get(keys[3] ?? missing, Stored),
    table.get(keys[3] ?? missing, Stored),
    table.get(missing, Stored),
    table.getMany([...keys.slice(0, 20), missing]),
  ]);
  expect([first, second, none]).toEqual([{ text: "ITEM#3" }, { text: "ITEM#3" }, undefined]);
  expect(many.map((item) => item?.["text"])).toEqual([...keys.slice(0, 20).map(({ SK }) => SK), undefined]);
  expect(usage.calls).toBe(1);
});

test("more items than one round trip can read are read in several round trips", async () => {
  const { table, keys, usage } = await scene();
  const found = await Promise.all(keys.map((key) => table.get(key, Stored)));
  expect(found.map((item) => item?.text)).toEqual(keys.map(({ SK }) => SK));
  expect(usage.calls).toBe(2);
});

test("a read sees every write from before it began", async () => {
  const { table, plain, keys, missing } = await scene();
  const key = keys[0] ?? missing;
  const before = table.get(key, Stored);
  await before;
  await plain.attempt({ update: key, set: { text: "new" } });
  expect(await table.get(key, Stored)).toEqual({ text: "new" });
});

test("a failed batch fails all its reads, and no later read", async () => {
  const { plain, keys, missing } = await scene();
  let isAway = true;
  const table = batchReads(
    {
      ...plain,
      getMany: (wanted) => (isAway ? Promise.reject(new Error("the table is away")) : plain.getMany(wanted)),
    },
    new SeenItems(),
  );
  const key = keys[0] ?? missing;
  const settled = await Promise.allSettled([table.get(key, Stored), table.getMany([key])]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isAway = false;
  expect(await table.get(key, Stored)).toEqual({ text: "ITEM#0" });
});
