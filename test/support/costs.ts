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
 * The cost of one request of a route: DynamoDB units, calls of the table, the longest sequence of calls that wait for
 * each other, and changes that are published as events.
 */
export type Cost = { reads: number; writes: number; calls: number; trips: number; events: number };

const counting = new AsyncLocalStorage<Cost>();

type Spent = { CapacityUnits?: number };

/** Adds the cost of each call of the table to the request that makes the call. */
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
 * Sends the example of a route to its handler, and returns the cost. The caller is an owner who has not called before.
 * The account has `workspaces` workspaces besides those of the example. The cost includes the read of the account's own
 * limits, and the write that charges the caller's limit.
 */
export async function costOf(route: Route, workspaces = 0): Promise<Cost> {
  const account = await newAccount();
  for (let index = 0; index < workspaces; index++) await newWorkspace(account, `Workspace ${index}`);
  const example = await exampleOf(route, account);
  // The caller is a second owner, because the first owner has already been charged in advance, and this charge depends
  // on the time. Both owners have the same email address, because the invitation of an example may be for this address.
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
 * Measures the cost of a route up to five times. Returns the expected cost as soon as a try has it, and otherwise the
 * most frequent cost. The cost can differ: other work in the table can make a plan run again, and the random length of
 * a key can make an item one unit larger.
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
