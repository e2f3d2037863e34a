import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { routes } from "../../functions/routes.ts";
import type { Route } from "../../shared/http/route.ts";
import { costBeside, costOf, type Cost } from "../support/costs.ts";
import { root, type Figure, type Options, type Result } from "./harness.ts";

const file = join(import.meta.dirname, "budgets.json");

/**
 * The prices of a million read units, write units and events in dollars, in us-east-1 on demand. They are the prices of
 * the first tier, without free tiers. Noted on 2026-11-21 from these pages: aws.amazon.com/dynamodb/pricing/on-demand
 * (rates of November 2024), /lambda/pricing, /api-gateway/pricing, /cloudwatch/pricing, /eventbridge/pricing.
 */
const prices = { readUnit: 0.125, writeUnit: 0.625, event: 1 };
/**
 * The price of a million requests in dollars. A request is a call of an HTTP API (up to 512 KB), a request of Lambda,
 * and a log line of 400 bytes.
 */
const perRequest = 1 + 0.2 + 400e-9 * 0.5e6;
/** The price of a million milliseconds of an Arm function with half a gigabyte, in dollars. */
const perMs = (0.5 * 13.3334) / 1000;

/**
 * The dollars for a million requests: for the table alone, and for everything that a request uses. The model: a warm
 * request takes 4 ms, and 4 ms more for each call of the table. The calls run one after another.
 */
function dollarsPerMillion({ reads, writes, calls, events }: Cost): { table: number; all: number } {
  const table = reads * prices.readUnit + writes * prices.writeUnit;
  return { table, all: table + perRequest + (4 + 4 * calls) * perMs + events * prices.event };
}

/** The largest allowed numbers of sequential round trips, for one GET, one list and one write. */
const tripBars = { "workspaces.get": 1, "workspaces.list": 2, "workspaces.add": 2 };

/**
 * Compares the cost of every route's example with the committed budgets. With `--write`, writes the costs to the file.
 */
export async function run({ write }: Options): Promise<Result> {
  const budgets = JSON.parse(await readFile(file, "utf8").catch(() => "{}")) as Record<string, Cost>;
  const costs: { route: Route; cost: Cost }[] = [];
  let differing = 0;
  for (const route of routes) {
    const budget = budgets[route.name];
    const cost = await costBeside(route, budget);
    costs.push({ route, cost });
    if (isDeepStrictEqual(cost, budget)) continue;
    differing += 1;
    process.stderr.write(`${route.name}: ${JSON.stringify(budget)} → ${JSON.stringify(cost)}\n`);
  }
  if (write) {
    const written = Object.fromEntries(costs.map(({ route, cost }) => [route.name, cost]));
    await writeFile(file, JSON.stringify(written, null, 2));
    execFileSync(join(root, "node_modules/.bin/oxfmt"), [file]);
  }
  const trips: Figure[] = [];
  for (const [name, bar] of Object.entries(tripBars)) {
    const route = routes.find((one) => one.name === name) as Route;
    trips.push({ name: `sequential trips: ${name}`, value: (await costOf(route, 1)).trips, unit: "trips", bar });
  }
  return {
    figures: [
      { name: "routes with a budget", value: routes.length, unit: "routes" },
      { name: "routes whose use differs from their budget", value: write ? 0 : differing, unit: "routes", bar: 0 },
      ...trips,
    ],
    tables: {
      "Table units and dollars of every route": costs.map(({ route, cost }) => {
        const dollars = dollarsPerMillion(cost);
        return {
          Route: `\`${route.name}\``,
          "Read units": cost.reads,
          "Write units": cost.writes,
          Calls: cost.calls,
          "Sequential trips": cost.trips,
          Events: cost.events,
          "Table, $/M": dollars.table,
          "All, $/M": dollars.all,
        };
      }),
    },
  };
}
