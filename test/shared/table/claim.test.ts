import { expect, test } from "vitest";

import { withClaim } from "../../../shared/table/claim.ts";
import type { Table } from "../../../shared/table/table.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const key = { PK: "CLAIMED", SK: "x" };
const now = (): Date => new Date("2026-03-04T05:06:07.008Z");

/** A table that sends its first write twice, as after the loss of the first answer. */
function twice(table: Table): Table {
  let isFirst = true;
  const attempt: Table["attempt"] = async (write) => {
    if (isFirst) await table.attempt(write);
    isFirst = false;
    return table.attempt(write);
  };
  return { ...table, attempt };
}

test("a claim whose write is sent twice runs the work once, and ends afterwards", async () => {
  const table = openMemoryTable(createMemoryStore());
  let runs = 0;
  const claim = { by: "a", now, forMs: 60_000 };
  expect(await withClaim(twice(table), key, claim, async () => ++runs)).toBe(1);
  expect(await table.getMany([key])).toEqual([undefined]);
});

test("while a claim runs, another process does not run the work", async () => {
  const table = openMemoryTable(createMemoryStore());
  const claimedBy = (by: string) => ({ by, now, forMs: 60_000 });
  const other = () => withClaim(twice(table), key, claimedBy("b"), async () => "other");
  expect(await withClaim(table, key, claimedBy("a"), other)).toBeUndefined();
});
