import { AsyncLocalStorage } from "node:async_hooks";

import { expect, test } from "vitest";

import { routes } from "../../functions/routes.ts";
import { callRest } from "../support/call.ts";
import { examples } from "../support/examples.ts";
import { hookCalls } from "../support/table-calls.ts";
import { newAccount, newServiceAccount } from "../support/world.ts";

/** A call of the table: its command, and the kind of the item if the call names an item by its key. */
type Call = { command: string; kind: string | undefined };
const recorded = new AsyncLocalStorage<Call[]>();

hookCalls(({ operation, input }, next) => {
  const key = "Key" in input ? input.Key : undefined;
  const kind = key && String(key["PK"]).split("#")[0];
  recorded.getStore()?.push({ command: operation, kind });
  return next();
});

// The commands that the read actions of infra/cdk/constructs/functions.ts allow.
const reads = new Set(["GetItem", "BatchGetItem", "Query"]);

test.each(routes.filter(({ access, capability }) => access === "read" && capability !== null))(
  "$name writes only the rate-limit bucket of its caller and the last use of the token, by one update each",
  async (route) => {
    const account = await newAccount();
    const example = (await examples[route.name]?.(account)) ?? {};
    const caller = await newServiceAccount(account, { owner: true });
    const calls: Call[] = [];
    const { status } = await recorded.run(calls, () => callRest(route, example, caller.token));
    expect(status).toBe(route.http.status);
    const writes = calls.filter(({ command }) => !reads.has(command));
    expect(writes.map(({ command }) => command)).toEqual(["UpdateItem", "UpdateItem"]);
    expect(new Set(writes.map(({ kind }) => kind))).toEqual(new Set(["RATE", "TOKEN"]));
  },
);
