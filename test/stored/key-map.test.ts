import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { editionNames, readEdition } from "./edition.ts";

const root = resolve(import.meta.dirname, "../..");
const [, map = ""] = readFileSync(resolve(root, "docs/architecture.md"), "utf8").split("## Key map of the table");

/** The names in backticks in a cell of a table, such as `HOLDER` and `BUYER`. */
const namesIn = (cell = ""): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** The pattern of the keys that a name of the map stands for. In a name, `<…>` and `…` stand for any text. */
const patternOf = (name: string): string => name.replaceAll(/<[^>]+>|…/g, ".+");

let partitions: string[] = [];
/** The keys of the map, as `PK / SK`. A row without a PK has the PK of the row above. */
const keys = [...map.matchAll(/^\|(.*?)\|(.*?)\|/gm)].flatMap(([, pk, sk]) => {
  if (namesIn(pk).length > 0) partitions = namesIn(pk);
  return partitions.flatMap((partition) =>
    namesIn(sk).map((name) => new RegExp(`^${patternOf(partition)} / ${patternOf(name)}$`)),
  );
});

/** Rows of old editions that no code reads. */
const unread = /^ACCOUNT#.+ \/ USAGE$/;

test.each(editionNames())(
  "the key map of docs/architecture.md has the key of every row of the %s that some code reads",
  (name) => {
    const rows = readEdition(name).items.map(({ PK, SK }) => `${PK} / ${SK}`);
    expect(rows.filter((row) => !unread.test(row) && !keys.some((key) => key.test(row)))).toEqual([]);
  },
);

test("every prefix of a key in the code is in the key map of docs/architecture.md", () => {
  const prefixes = globSync("{shared,functions}/**/*.ts", { cwd: root }).flatMap((file) =>
    [...readFileSync(resolve(root, file), "utf8").matchAll(/["`]([A-Z][A-Z_]+#)/g)].map(([, prefix = ""]) => prefix),
  );
  expect(prefixes.length).toBeGreaterThan(50);
  expect([...new Set(prefixes)].filter((prefix) => !map.includes(`\`${prefix}`))).toEqual([]);
});
