import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { pictureOf, suiteOf } from "./page.ts";
import { costTable, scaleResult } from "./scale.ts";

const docs = join(import.meta.dirname, "../../docs");
const read = (name: string): string => readFileSync(join(docs, name), "utf8");

/** Shortens the spaces and dashes with which a formatter fills the cells of a table. */
const plain = (text: string): string => text.replaceAll(/[ -]+/g, " ").trim();

test("docs/scale.md and its picture agree with the model", () => {
  const result = scaleResult();
  const [, written = ""] = /<!-- scale -->([^]*?)<!-- end -->/.exec(read("scale.md")) ?? [];
  expect(plain(written), "run npm run bench -- scale --write").toBe(plain(suiteOf(result)));
  const rows = result.tables?.[costTable] ?? [];
  expect(read("benchmarks/scale.svg")).toBe(pictureOf(rows, "Cents for a mailbox"));
});

test("a mailbox costs more in a small stage than in a larger one, and the load grows with the mailboxes", () => {
  const { tables = {} } = scaleResult();
  const [first, second] = tables[costTable] ?? [];
  expect(Number(first?.["Cents for a mailbox"])).toBeGreaterThan(Number(second?.["Cents for a mailbox"]));
  const requests = (tables["Load in the busiest second"] ?? []).map((row) =>
    Number(String(row["Requests a second"]).replaceAll(",", "")),
  );
  expect(requests).toEqual(requests.toSorted((a, b) => a - b));
  expect(requests.at(-1)).toBeGreaterThan(900 * (requests[0] ?? 0));
});
