import { AsyncLocalStorage } from "node:async_hooks";
import { isDeepStrictEqual } from "node:util";

import type { Route } from "../../shared/http/route.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { newWorkspace } from "./auth.ts";
import { callRest } from "./call.ts";
import { exampleOf } from "./examples.ts";
import { hookCalls } from "./table-calls.ts";
import { countTrips } from "./trips.ts";
import { grant, newAccount, newUser } from "./world.ts";

const tries = 5;

/**
 * What one request of a route consumes: DynamoDB units, calls of the table, those of them that wait for each other, and
 * changes that are published as events.
 */
export type Cost = { reads: number; writes: number; calls: number; trips: number; events: number };

const counting = new AsyncLocalStorage<Cost>();

type Spent = { CapacityUnits?: number };

/** Adds what each call of the table consumes to the cost of the request that makes it. */
hookCalls(async ({ operation, input }, next) => {
  const cost = counting.getStore();
  if (!cost) return next();
  cost.calls += 1;
  const answer = await next();
  const { ConsumedCapacity } = answer as { ConsumedCapacity?: Spent | Spent[] };
  const units = [ConsumedCapacity ?? []].flat().reduce((total, { CapacityUnits = 0 }) => total + CapacityUnits, 0);
  cost[/^(?:Get|BatchGet|Query)/.test(operation) ? "reads" : "writes"] += units;
  const { TransactItems = [] } = operation === "TransactWriteItems" ? input : {};
  cost.events += TransactItems.filter(({ Put }) =>
    String(Put?.Item?.["SK"]).startsWith("JOURNAL#changes#ENTRY#"),
  ).length;
  return answer;
});

/**
 * What the handler consumes for a route's example, sent by an owner who has not called before: with the read of the
 * account's own limits and the write that charges the caller's. Nobody else works in the account, which has so many
 * workspaces besides those of the example.
 */
export async function costOf(route: Route, workspaces = 0): Promise<Cost> {
  const account = await newAccount();
  for (let index = 0; index < workspaces; index++) await newWorkspace(account, `Workspace ${index}`);
  const example = await exampleOf(route, account);
  // Another owner's bucket is new: how much of the first one's is charged in advance depends on the time. The owners
  // have one address, to which an invitation may be.
  const { email } = account.owner;
  const caller = newUser(email === undefined ? {} : { email });
  await grant(account, caller, { owner: true });
  runtime().limiterMemory.ownLimits.delete(account.id);
  const cost: Cost = { reads: 0, writes: 0, calls: 0, trips: 0, events: 0 };
  const { value, trips } = await countTrips(() => counting.run(cost, () => callRest(route, example, caller.token)));
  if (value.status !== route.http.status) throw new Error(`${route.name} answers ${value.status} ${value.text}`);
  return { ...cost, trips };
}

/**
 * The cost of a route: the expected one as soon as a try costs that, else the most frequent of five tries. Other work
 * in the same table can make a plan run again, and a key's random length can lift its item over a unit's edge.
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
