import { AsyncLocalStorage } from "node:async_hooks";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { routes } from "../../functions/routes.ts";
import type { Route } from "../../shared/http/route.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { callRest } from "../support/call.ts";
import { exampleOf } from "../support/examples.ts";
import { hookCalls } from "../support/table-calls.ts";
import { countTrips } from "../support/trips.ts";
import { newAccount, newMember } from "../support/world.ts";
import type { Options, Result } from "./harness.ts";
import { blocks, shown, table as tableOf } from "./page.ts";

const file = join(import.meta.dirname, "budgets.json");
const tries = 5;

/**
 * Dollars in us-east-1 on demand, the first tier without free tiers, as our notes of 2026-11-21 have them of these pages:
 * aws.amazon.com/dynamodb/pricing/on-demand (rates of November 2024), /lambda/pricing, /api-gateway/pricing,
 * /cloudwatch/pricing, /eventbridge/pricing.
 */
const prices = {
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  /** An HTTP API's call of up to 512 KB. */
  gatewayRequest: 1.0e-6,
  lambdaRequest: 0.2e-6,
  /** Of Arm functions. */
  lambdaGigabyteSecond: 0.0000133334,
  logGigabyte: 0.5,
  /** A custom event of up to 64 KB on the bus. */
  event: 1.0e-6,
} as const;

/** Assumptions about a warm request, which nobody can measure without AWS. */
const memoryGigabytes = 0.5;
/** Milliseconds without the calls of the table, and of each call; calls at the same time count one after another. */
const [baseMs, msPerTableCall] = [4, 4];
/** The one log line of a request, in bytes. */
const logBytes = 400;

/** Dollars of a million requests: of the table alone, and of everything that a request passes through. */
function dollarsPerMillion({ reads, writes, calls, events }: Cost): { table: number; all: number } {
  const table = reads * prices.readUnit + writes * prices.writeUnit;
  const seconds = (baseMs + msPerTableCall * calls) / 1000;
  const lambda = prices.lambdaRequest + seconds * memoryGigabytes * prices.lambdaGigabyteSecond;
  const logs = (logBytes / 1e9) * prices.logGigabyte;
  const all = table + prices.gatewayRequest + lambda + logs + events * prices.event;
  return { table: table * 1e6, all: all * 1e6 };
}

/** Compares what every route's example consumes with the committed budgets; with `--write`, commits it to the file. */
export async function run({ write }: Options): Promise<Result> {
  const budgets = JSON.parse(await readFile(file, "utf8").catch(() => "{}")) as Record<string, Cost>;
  const costs: Record<string, Cost> = {};
  let differing = 0;
  for (const route of routes) {
    const { name } = route;
    const cost = await costBeside(route, budgets[name]);
    costs[name] = cost;
    if (isDeepStrictEqual(cost, budgets[name])) continue;
    differing += 1;
    process.stderr.write(`${name}: ${JSON.stringify(budgets[name])} → ${JSON.stringify(cost)}\n`);
  }
  if (write) {
    await writeFile(file, JSON.stringify(costs, null, 2));
    execFileSync(resolve(import.meta.dirname, "../../node_modules/.bin/oxfmt"), [file]);
  }
  return {
    figures: [
      { name: "routes with a budget", value: routes.length, unit: "routes" },
      { name: "… that consume something else", value: write ? 0 : differing, unit: "routes", bar: 0 },
    ],
    chapter: chapterOf(costs),
  };
}

function chapterOf(costs: Record<string, Cost>): string {
  const all = Object.entries(costs).map(([name, cost]) => ({ name, ...cost, dollars: dollarsPerMillion(cost) }));
  const most = Math.max(...all.map(({ dollars }) => dollars.table));
  const rows = all.map(({ name, reads, writes, calls, trips, events, dollars }) => [
    `\`${name}\``,
    `${reads}`,
    `${writes}`,
    `${calls}`,
    `${trips}`,
    `${events}`,
    `$${shown(dollars.table, 2)}`,
    blocks(dollars.table, most),
    `$${shown(dollars.all, 2)}`,
  ]);
  return `## Table units and dollars of every route

The table has the units that the engine reports for the example call of each route (\`test/support/examples.ts\`). The caller is an owner
who has not called before. Such a call also reads the account's own limits and writes the caller's charge, which a frequent caller pays for
only every tenth request.

\`test/bench/budgets.json\` holds these figures, and \`npm test\` fails when one changes. \`npm run bench -- budgets --write\` accepts a change.

The prices are in dollars for a million requests, in us-east-1, on demand (\`test/bench/budgets.ts\`, as of 2026-11-21). "All" also includes:

- the HTTP API's call ($${shown(prices.gatewayRequest * 1e6, 2)}) and Lambda's ($${shown(prices.lambdaRequest * 1e6, 2)})
- Lambda's time on Arm with ${memoryGigabytes * 1024} MB, which is assumed, not measured: ${baseMs} ms, and ${msPerTableCall} ms for each call of the table, warm
- a log line of ${logBytes} bytes
- $${shown(prices.event * 1e6, 2)} for each change that is published as an event

It leaves out the later work of workers, storage, backups, transfer, and the prices of others (the registrar, Stripe, SES, KMS).

${tableOf(["Route", "Read units", "Write units", "Calls", "In a row", "Events", "Table, $/M", "", "All, $/M"], rows)}
`;
}

/**
 * What one request of a route consumes: DynamoDB units, calls of the table, how many of them wait for one another, and
 * changes that are published as events.
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
    const answer = await next();
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
 * account's own limits and the write that charges the caller's. Nobody else works in the account.
 */
async function costOf(route: Route): Promise<Cost> {
  install();
  const account = await newAccount();
  const example = await exampleOf(route, account);
  // Another owner's bucket is new: how much of the first one's is charged in advance depends on the time.
  const caller = await newMember(account, { owner: true });
  runtime().limiterMemory.ownLimits.delete(account.id);
  const cost: Cost = { reads: 0, writes: 0, calls: 0, trips: 0, events: 0 };
  const { value, trips } = await countTrips(() => counting.run(cost, () => callRest(route, example, caller.token)));
  const { status, text } = value;
  if (status !== route.http.status) throw new Error(`${route.name} answers ${status} ${text}`);
  return { ...cost, trips };
}

/**
 * The cost of a route: the expected one as soon as a try costs that, else the most frequent of five tries. Other work in
 * the same table can make a plan run again, and a key's random length can lift its item over a unit's edge.
 */
export async function costBeside(route: Route, expected: Cost | undefined): Promise<Cost> {
  const seen = new Map<string, number>();
  for (let attempt = 0; attempt < tries; attempt++) {
    const cost = await costOf(route);
    if (isDeepStrictEqual(cost, expected)) return cost;
    const text = JSON.stringify(cost);
    seen.set(text, (seen.get(text) ?? 0) + 1);
  }
  const [most] = [...seen].toSorted(([, one], [, other]) => other - one);
  return JSON.parse(most?.[0] ?? "{}") as Cost;
}
