import { AsyncLocalStorage } from "node:async_hooks";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { routes } from "../../functions/routes.ts";
import { route as add } from "../../functions/workspaces/add.ts";
import { route as get } from "../../functions/workspaces/get.ts";
import { route as list } from "../../functions/workspaces/list.ts";
import type { Route } from "../../shared/http/route.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { newWorkspace } from "../support/auth.ts";
import { callRest } from "../support/call.ts";
import { exampleOf } from "../support/examples.ts";
import { hookCalls } from "../support/table-calls.ts";
import { newAccount, newMember } from "../support/world.ts";
import { median, type Figure, type Options, type Result } from "./harness.ts";

const file = join(import.meta.dirname, "budgets.json");
const tries = 5;

/**
 * Dollars for a million in us-east-1 on demand, the first tier without free tiers, as our notes of 2026-11-21 have them of
 * these pages: aws.amazon.com/dynamodb/pricing/on-demand (rates of November 2024), /lambda/pricing, /api-gateway/pricing,
 * /cloudwatch/pricing, /eventbridge/pricing.
 */
const prices = { readUnit: 0.125, writeUnit: 0.625, event: 1 };
/** An HTTP API's call of up to 512 KB, Lambda's request, and a log line of 400 bytes. */
const perRequest = 1 + 0.2 + 400e-9 * 0.5e6;
/** Half a gigabyte of an Arm function for a millisecond. */
const perMs = (0.5 * 13.3334) / 1000;

/**
 * Dollars of a million requests: of the table alone, and of everything that a request passes through. A warm request is
 * assumed to take 4 ms, and 4 ms for each call of the table, one after another.
 */
function dollarsPerMillion({ reads, writes, calls, events }: Cost): { table: number; all: number } {
  const table = reads * prices.readUnit + writes * prices.writeUnit;
  return { table, all: table + perRequest + (4 + 4 * calls) * perMs + events * prices.event };
}

/** The kinds of routes, each with the route that stands for it and the most sequential round trips that it may make. */
const kinds = {
  GET: { example: get, bar: 1 },
  list: { example: list, bar: 2 },
  write: { example: add, bar: 2 },
};

const kindOf = ({ http, query }: Route): keyof typeof kinds =>
  http.method === "GET" ? ("page" in query.shape ? "list" : "GET") : "write";

/** Compares what every route's example consumes with the committed budgets; with `--write`, commits it to the file. */
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
    execFileSync(resolve(import.meta.dirname, "../../node_modules/.bin/oxfmt"), [file]);
  }
  const trips: Figure[] = [];
  for (const [kind, { example, bar }] of Object.entries(kinds)) {
    const ofKind = costs.filter(({ route }) => kindOf(route) === kind).map(({ cost }) => cost.trips);
    const own = await costOf(example, 1);
    const within = ofKind.filter((count) => count <= bar).length;
    const name = `sequential round trips of a ${kind}`;
    trips.push(
      { name: `${name}: ${example.name}`, value: own.trips, unit: "trips", bar },
      { name: `${name}: median of the routes`, value: median(ofKind), unit: "trips" },
      { name: `${name}: at most ${bar}, of ${ofKind.length} routes`, value: within, unit: "routes" },
    );
  }
  return {
    figures: [
      { name: "routes with a budget", value: routes.length, unit: "routes" },
      { name: "… that consume something else", value: write ? 0 : differing, unit: "routes", bar: 0 },
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

/**
 * What one request of a route consumes: DynamoDB units, calls of the table, those of them that wait for each other, and
 * changes that are published as events. `trips` leaves out the calls of the rate limits, which few requests make.
 */
export type Cost = { reads: number; writes: number; calls: number; trips: number; events: number };

const counting = new AsyncLocalStorage<Cost>();
let isInstalled = false;

type Spent = { CapacityUnits?: number };

/** Adds what each call of the table consumes to the cost of the request that makes it. */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async ({ operation, input }, next) => {
    const cost = counting.getStore();
    if (!cost) return next();
    cost.calls += 1;
    const { PK, SK } = ("Key" in input ? input.Key : undefined) ?? {};
    const isOfLimits = String(PK).startsWith("RATE#") || SK === "LIMITS";
    // It waits for the calls that have ended, and for none of those that are under way.
    const trip = isOfLimits ? 0 : cost.trips + 1;
    const answer = await next().finally(() => (cost.trips = Math.max(cost.trips, trip)));
    const { ConsumedCapacity } = answer as { ConsumedCapacity?: Spent | Spent[] };
    const units = [ConsumedCapacity ?? []].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
    cost[/^(?:Get|BatchGet|Query)/.test(operation) ? "reads" : "writes"] += units;
    const { TransactItems = [] } = operation === "TransactWriteItems" ? input : {};
    const keys = TransactItems.map(({ Put }) => String(Put?.Item?.["SK"]));
    cost.events += keys.filter((key) => key.startsWith("JOURNAL#changes#ENTRY#")).length;
    return answer;
  });
}

/**
 * What the handler consumes for a route's example, sent by an owner who has not called before: with the read of the
 * account's own limits and the write that charges the caller's. Nobody else works in the account, which has so many
 * workspaces besides those of the example.
 */
async function costOf(route: Route, workspaces = 0): Promise<Cost> {
  install();
  const account = await newAccount();
  for (let index = 0; index < workspaces; index++) await newWorkspace(account, `Workspace ${index}`);
  const example = await exampleOf(route, account);
  // Another owner's bucket is new: how much of the first one's is charged in advance depends on the time.
  const caller = await newMember(account, { owner: true });
  runtime().limiterMemory.ownLimits.delete(account.id);
  const cost: Cost = { reads: 0, writes: 0, calls: 0, trips: 0, events: 0 };
  const { status, text } = await counting.run(cost, () => callRest(route, example, caller.token));
  if (status !== route.http.status) throw new Error(`${route.name} answers ${status} ${text}`);
  return cost;
}

/**
 * The cost of a route: the expected one as soon as a try costs that, else the most frequent of five tries. Other work in
 * the same table can make a plan run again, and a key's random length can lift its item over a unit's edge.
 */
export async function costBeside(route: Route, expected: Cost | undefined): Promise<Cost> {
  const seen: string[] = [];
  for (let attempt = 0; attempt < tries; attempt++) {
    const cost = await costOf(route);
    if (isDeepStrictEqual(cost, expected)) return cost;
    seen.push(JSON.stringify(cost));
  }
  const times = (text: string): number => seen.filter((one) => one === text).length;
  const [most = "{}"] = seen.toSorted((one, other) => times(other) - times(one));
  return JSON.parse(most) as Cost;
}
