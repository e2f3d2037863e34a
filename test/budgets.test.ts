import { readFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import type { Route } from "../shared/http/route.ts";
import type { Cost } from "./support/costs.ts";
import { startSurroundings } from "./support/surroundings.ts";

const budgets = JSON.parse(readFileSync(join(import.meta.dirname, "bench/budgets.json"), "utf8")) as Record<
  string,
  Cost
>;

let costBeside: (route: Route, expected: Cost | undefined) => Promise<Cost>;

// The tests use a table of their own. In a shared table, the stock of other tests would make the reads of the stock
// more expensive.
beforeAll(async () => {
  const tearDown = await startSurroundings();
  ({ costBeside } = await import("./support/costs.ts"));
  return tearDown;
});

/**
 * Routes whose reads for several names may share a batch, depending on when the registrar answers. The budget of these
 * routes has the highest number of calls.
 */
const varying: ReadonlySet<string> = new Set(["domains.transfer"]);

test("every route has a budget, and there are no other budgets", () => {
  expect(Object.keys(budgets).toSorted()).toEqual(routes.map(({ name }) => name).toSorted());
});

describe.each(routes.map((route) => [route.name, route] as const))("%s", (name, route) => {
  test("agrees with its budget: `npm run bench -- budgets --write` accepts an intended change", async () => {
    const cost = await costBeside(route, budgets[name]);
    if (!varying.has(name)) return expect(cost).toEqual(budgets[name]);
    const { calls: most, ...others } = budgets[name] ?? { calls: 0 };
    expect(cost).toMatchObject(others);
    return expect(cost.calls).toBeLessThanOrEqual(most);
  });
});
