import { expect, test } from "vitest";

import { claimName, planNameChange, planNameRemoval, reservedNameKeys } from "../../../shared/table/reserved-name.ts";
import type { Write } from "../../../shared/table/writes.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

/**
 * U+0390 is one character in lower case. Its capital has two characters. The lower case of this capital has two
 * characters too.
 */
const [small, capital] = ["\u0390", "\u03aa\u0301"];
const keysOf = (name: string) => reservedNameKeys("account", "TAG", name);
const taken = () => new Error("taken");

/** A table, and functions that write to it as `claimName`, `planNameChange` and `planNameRemoval` plan. */
function scene() {
  const table = openMemoryTable(createMemoryStore());
  const write = (plan: () => Promise<Write[]>) => table.commit(async () => ({ value: 0, writes: await plan() }));
  return {
    /** The id of the resource that has reserved a key, by the sort key. */
    reserved: async () => new Map((await table.between("ACCOUNT#account", "A", "Z")).map(({ SK, id }) => [SK, id])),
    add: (id: string, name: string) => write(async () => claimName(keysOf(name), id, taken)),
    /** Adds a name as version 0.1.0 stored it. */
    addFormer: (id: string, name: string) => write(async () => claimName(keysOf(name).slice(0, 1), id, taken)),
    rename: (id: string, from: string, to: string) =>
      write(() => planNameChange(table, { from: keysOf(from), to: keysOf(to) }, id, taken)),
    remove: (id: string, name: string) => write(() => planNameRemoval(table, keysOf(name), id)),
  };
}

test("a letter and its capital are the same name, even if only the small letter is one composed character", async () => {
  for (const [first, second] of [
    [small, capital],
    [capital, small],
  ] as const) {
    const { add, remove } = scene();
    await add("a", `x${first}`);
    await expect(add("b", `X${second}`)).rejects.toThrow("taken");
    await remove("a", `x${first}`);
    await add("b", `X${second}`);
  }
});

test("a resource can be renamed between a letter and its capital, and leaves no key behind", async () => {
  const { reserved, add, rename, remove } = scene();
  await add("a", small);
  await rename("a", small, capital);
  expect([...(await reserved()).keys()].toSorted()).toEqual(
    keysOf(capital)
      .map(({ SK }) => SK)
      .toSorted(),
  );
  await rename("a", capital, small);
  expect([...(await reserved()).keys()]).toEqual(keysOf(small).map(({ SK }) => SK));
  await rename("a", small, "other");
  await add("b", capital);
  await remove("a", "other");
  await remove("b", capital);
  expect((await reserved()).size).toBe(0);
});

test("a change or removal of a name that version 0.1.0 stored does not free the name of another resource", async () => {
  for (const giveUp of ["rename", "remove"] as const) {
    const scenes = scene();
    await scenes.addFormer("a", capital);
    await scenes.addFormer("b", small);
    await (giveUp === "rename" ? scenes.rename("a", capital, "other") : scenes.remove("a", capital));
    const reserved = await scenes.reserved();
    expect(reserved.get(keysOf(small)[0].SK)).toBe("b");
    expect(reserved.has(keysOf(capital)[0].SK)).toBe(false);
    await expect(scenes.add("c", capital)).rejects.toThrow("taken");
  }
});

test("a change of only the case reserves nothing, so it cannot fail", async () => {
  const { reserved, addFormer, rename } = scene();
  await addFormer("a", `${capital}x`);
  await addFormer("b", `${small}x`);
  await rename("a", `${capital}x`, `${capital}X`);
  expect((await reserved()).size).toBe(2);
});
