import { randomUUID } from "node:crypto";

import { describe, expect, onTestFinished, test, vi } from "vitest";

import { atOneMoment, type ResolvedList } from "../../../shared/table/moment.ts";
import { appendRows, readList, removeRows, type List } from "../../../shared/table/ranked-list.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item } from "../../../shared/table/writes.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const newTable = (): Table => openMemoryTable(createMemoryStore());
const newList = (): List => ({ partition: `TEST#${randomUUID()}`, name: "things" });
const namesOf = (rows: Item[]) => rows.map(({ name }) => String(name));
const listed = (list: List): ResolvedList<string> => ({ list, resolve: async (rows) => namesOf(rows) });

const add = (table: Table, list: List, ...names: string[]) =>
  table.commit(async () => {
    const { state } = await readList(table, list);
    return {
      value: undefined,
      writes: appendRows(
        state,
        names.map((name) => ({ name })),
      ),
    };
  });
const remove = (table: Table, list: List, ordinal: number) =>
  table.commit(async () => {
    const { state } = await readList(table, list, [ordinal]);
    return { value: undefined, writes: removeRows(state, [ordinal]) };
  });

/** Reads a page of some lists. In the first reading, `step` runs right after the heads were read. */
function pageOf(
  table: Table,
  lists: readonly ResolvedList<string>[],
  step: () => Promise<unknown> = async () => undefined,
) {
  let readings = 0;
  const page = atOneMoment(table, async ({ open, page: read }) => {
    const sources = await open(lists);
    readings += 1;
    if (readings === 1) await step();
    return read(sources, 0, 10);
  });
  return page.then((answer) => ({ ...answer, readings }));
}

describe("a page of one list", () => {
  test("has the rows and the total of the list, and is read once if nothing changes", async () => {
    const [table, list] = [newTable(), newList()];
    await add(table, list, "a", "b");
    expect(await pageOf(table, [listed(list)])).toEqual({ rows: ["a", "b"], total: 2, readings: 1 });
    expect(await pageOf(table, [])).toEqual({ rows: [], total: 0, readings: 1 });
  });

  test("is read again if a row is removed meanwhile, and not if a row is added", async () => {
    const [table, list] = [newTable(), newList()];
    await add(table, list, "a", "b", "c");
    const removed = await pageOf(table, [listed(list)], () => remove(table, list, 1));
    expect(removed).toEqual({ rows: ["a", "c"], total: 2, readings: 2 });
    const added = await pageOf(table, [listed(list)], () => add(table, list, "d"));
    expect(added).toEqual({ rows: ["a", "c"], total: 2, readings: 1 });
  });

  test("is read again if the item of a row is gone, until it is complete", async () => {
    const [table, list] = [newTable(), newList()];
    await add(table, list, "a", "b");
    let tries = 0;
    const resolve = async (rows: Item[]) => namesOf(rows).slice((tries += 1) < 3 ? 1 : 0);
    expect(await pageOf(table, [{ list, resolve }])).toEqual({ rows: ["a", "b"], total: 2, readings: 3 });
    // There is no wait between the readings.
    const chance = vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => chance.mockRestore());
    await expect(pageOf(table, [{ list, resolve: async () => [] }])).rejects.toMatchObject({ code: "busy" });
  });

  test("fails with the error of its read, at once", async () => {
    const [table, list] = [newTable(), newList()];
    await add(table, list, "a");
    let tries = 0;
    const resolve = async () => Promise.reject(new Error(`try ${(tries += 1)}`));
    await expect(pageOf(table, [{ list, resolve }])).rejects.toThrow("try 1");
  });
});

describe("a page of several lists", () => {
  test("shows one moment: it is read again if a list has changed since its head was read", async () => {
    for (const which of [0, 1]) {
      const [table, lists] = [newTable(), [newList(), newList()]];
      for (const list of lists) await add(table, list, "a");
      const changed = lists[which];
      const step = () => add(table, changed ?? newList(), "b");
      const page = await pageOf(table, lists.map(listed), step);
      expect(page).toMatchObject({ total: 3, readings: 2 });
      expect(page.rows.toSorted()).toEqual(["a", "a", "b"]);
    }
  });

  test("is read again after a change of an earlier page's list only if one of its own sources is not a list", async () => {
    for (const [others, readings] of [
      [[], 1],
      [[{ total: 1, read: async () => ["other"] }], 2],
    ] as const) {
      const [table, first, second] = [newTable(), newList(), newList()];
      await add(table, first, "a");
      await add(table, second, "b");
      let count = 0;
      await atOneMoment(table, async ({ open, page }) => {
        count += 1;
        await page(await open([listed(first)]), 0, 10);
        const opened = await open([listed(second)]);
        if (count === 1) await add(table, first, "late");
        return page([...others, ...opened], 0, 10);
      });
      expect(count).toBe(readings);
    }
  });
});
