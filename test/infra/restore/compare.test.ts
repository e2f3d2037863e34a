import { expect, test } from "vitest";

import { checkLists } from "../../../infra/restore/compare.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { appendRows, readList, rowKey } from "../../../shared/table/ranked-list.ts";
import type { Item } from "../../../shared/table/writes.ts";
import { editionNames, readEdition } from "../../stored/edition.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const list = { partition: "ACCOUNT#a", name: "mailboxes" };

const wrong = "the count of the list mailboxes differs from the number of its rows";

/** A table with a list of many rows. */
async function scene(rows: number) {
  const table = openMemoryTable(createMemoryStore());
  for (let left = rows; left > 0; left -= 90) {
    await table.commit(async () => {
      const { state } = await readList(table, list);
      const some = Array.from({ length: Math.min(left, 90) }, () => ({}));
      return { value: undefined, writes: appendRows(state, some) };
    });
  }
  return table;
}

test.each([5, 1_000, 1_234])("a complete list has no problem, and the loss of row %i is found", async (lost) => {
  const table = await scene(1_235);
  expect(await checkLists(table, "a")).toEqual([]);
  await table.attempt({ delete: rowKey(list, lost) });
  expect(await checkLists(table, "a")).toEqual([wrong]);
});

test("a row beyond the count of its list is found", async () => {
  const table = await scene(1_000);
  await table.attempt({ put: rowKey(list, 1_000) });
  expect(await checkLists(table, "a")).toEqual([wrong]);
});

test.each([new Error("no connection"), new Problem("busy", "The table is throttled.", { retry_after: 1 })])(
  "a list that cannot be read is reported as unreadable, not as a wrong count: %s",
  async (error) => {
    const table = await scene(1);
    const between: typeof table.between = (partition, from, ...rest) =>
      from.startsWith("LIST#mailboxes#ROW#") ? Promise.reject(error) : table.between(partition, from, ...rest);
    expect(await checkLists({ ...table, between }, "a")).toEqual([
      `the list mailboxes cannot be read: ${error.message}`,
    ]);
  },
);

test.each(editionNames())(
  "the check covers every list but the domains, of every account in the frozen rows of the %s",
  async (name) => {
    const table = openMemoryTable(createMemoryStore());
    const { items } = readEdition(name);
    for (const item of items) await table.attempt({ put: item });
    const accounts = new Map<string, Map<string, Item>>();
    for (const row of items) {
      const [, id] = /^ACCOUNT#(.+)/.exec(row.PK) ?? [];
      const [, list] = /^LIST#(.+)#ROW#/.exec(row.SK) ?? [];
      // The row of a domain has the count of the list of its mailboxes, so this row stays.
      if (id === undefined || list === undefined || list === "domains") continue;
      accounts.set(id, (accounts.get(id) ?? new Map<string, Item>()).set(list, row));
    }
    expect(accounts.size).toBeGreaterThan(3);
    for (const [id, rows] of accounts) {
      expect(await checkLists(table, id)).toEqual([]);
      for (const { PK, SK } of rows.values()) await table.attempt({ delete: { PK, SK } });
      const problems = [...rows.keys()].map(
        (list) => `the count of the list ${list} differs from the number of its rows`,
      );
      expect(new Set(await checkLists(table, id))).toEqual(new Set(problems));
    }
  },
);
