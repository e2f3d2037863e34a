import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { routes } from "../../functions/routes.ts";
import { startSurroundings } from "../support/surroundings.ts";
import type { Cost } from "./prices.ts";
import type { Figure, Measured, Options } from "./suite.ts";

const file = join(import.meta.dirname, "budgets.json");
const root = resolve(import.meta.dirname, "../..");

export type BudgetData = { costs: Record<string, Cost> };

/** What the example of every route consumes beside what is committed; with `--write` that is what is committed now. */
export async function tableBudgets({ write }: Options): Promise<Measured> {
  const tearDown = await startSurroundings();
  try {
    // What it imports opens a client to the engine that only stands by now.
    const { costBeside } = await import("./measured-route.ts");
    const costs: Record<string, Cost> = {};
    const committed = await readFile(file, "utf8")
      .then((text) => JSON.parse(text) as Record<string, Cost>)
      .catch((): Record<string, Cost> => ({}));
    for (const route of routes) {
      costs[route.name] = await costBeside(route, committed[route.name]);
    }
    if (write) await save(costs);
    const differing = routes.filter(({ name }) => !isDeepStrictEqual(costs[name], committed[name]));
    for (const { name } of differing) {
      process.stderr.write(`${name}: ${JSON.stringify(committed[name])} → ${JSON.stringify(costs[name])}\n`);
    }
    const figures: Figure[] = [
      { name: "routes with a budget", value: routes.length, unit: "routes" },
      { name: "… that consume something else", value: write ? 0 : differing.length, unit: "routes", bar: 0 },
    ];
    const data: BudgetData = { costs };
    return { figures, data };
  } finally {
    await tearDown();
  }
}

async function save(costs: Record<string, Cost>): Promise<void> {
  await writeFile(file, JSON.stringify(costs, null, 2));
  execFileSync(join(root, "node_modules/.bin/oxfmt"), [file]);
}
