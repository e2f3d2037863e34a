import { AsyncLocalStorage } from "node:async_hooks";
import { isDeepStrictEqual } from "node:util";

import type { Route } from "../../shared/route.ts";
import { runtime } from "../../shared/runtime.ts";
import { callRest } from "../support/call.ts";
import { exampleOf } from "../support/examples.ts";
import { newAccount, newMember } from "../support/world.ts";

/** What one request of a route consumes: DynamoDB units, calls of the table, and changes that are published as events. */
export type Cost = { reads: number; writes: number; calls: number; events: number };

const counting = new AsyncLocalStorage<Cost>();
let isInstalled = false;

type Spent = { CapacityUnits?: number };
type Sent = { TransactItems?: { Put?: { Item?: { SK?: { S?: string } | string } } }[] };

/** Adds what each call of the table consumes to the cost of the request that makes it. */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  runtime().client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const cost = counting.getStore();
        if (cost) cost.calls += 1;
        const answer = await next(args);
        if (!cost) return answer;
        const { ConsumedCapacity } = answer.output as { ConsumedCapacity?: Spent | Spent[] };
        const units = [ConsumedCapacity ?? []].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
        cost[/^(?:Get|BatchGet|Query)/.test(commandName) ? "reads" : "writes"] += units;
        const { TransactItems = [] } = args.input as Sent;
        const keys = TransactItems.map(({ Put }) => Put?.Item?.SK).map((key) =>
          typeof key === "object" ? key.S : key,
        );
        cost.events += keys.filter((key) => key?.startsWith("JOURNAL#changes#ENTRY#")).length;
        return answer;
      },
    { step: "initialize", name: "cost" },
  );
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
  const cost: Cost = { reads: 0, writes: 0, calls: 0, events: 0 };
  const { status, text } = await counting.run(cost, () => callRest(route, example, caller.token));
  if (status !== route.status) throw new Error(`${route.name} answers ${status} ${text}`);
  return cost;
}

const tries = 5;

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
