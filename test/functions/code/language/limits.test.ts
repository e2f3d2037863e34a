import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import * as limits from "../../../../functions/code/language/limits.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/code-mode.md"), "utf8");

/** The row of the table "Limits" for each limit of the program. */
const rows: Record<keyof typeof limits, string> = {
  sourceLimitBytes: "source",
  nestingLimit: "brackets in brackets",
  callLimit: "calls in the source",
  clauseLimit: "`for` and `if` of a comprehension",
  scoreLimit: "`complexity_score`",
  stepLimit: "work besides the calls",
  valueLimitBytes: "one value",
  valueDepthLimit: "one value",
  resultLimitBytes: "`last_value`",
  budgetMs: "time",
  outsideBudgetMs: "time to begin calls to other services",
  readsAtOnce: "reads at the same time",
  sessionLimitBytes: "variables of a session",
  sessionsLimit: "sessions of a principal",
};

/** A limit as the page writes it: bytes in KiB or MiB, times in seconds. */
function written(name: string, value: number): string {
  if (name.endsWith("Ms")) return `${value / 1000} seconds`;
  if (name === "stepLimit") return `${value.toLocaleString("en-US")} steps`;
  if (name === "valueDepthLimit") return `${value} deep`;
  if (!name.endsWith("Bytes")) return String(value);
  return value < 1_048_576 ? `${value / 1024} KiB` : `${value / 1_048_576} MiB`;
}

test.each(Object.entries(limits))("docs/code-mode.md has the limit %s in its table", (name, value) => {
  const [, table = ""] = page.split("\n## Limits\n");
  const cells = table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const [, , most = ""] = cells.find(([, limit]) => limit === rows[name as keyof typeof limits]) ?? [];
  expect(most.split(/(?<!\d), |; /)).toContain(written(name, value));
});
