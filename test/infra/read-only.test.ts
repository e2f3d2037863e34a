import { AsyncLocalStorage } from "node:async_hooks";

import { expect, test } from "vitest";

import { routes } from "../../functions/routes.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { callRest } from "../support/call.ts";
import { examples } from "../support/examples.ts";
import { newAccount, newServiceAccount } from "../support/world.ts";

/** A call of the table: its command, and of what kind the item is where it names one. */
type Call = { command: string; kind: string | undefined };
const recorded = new AsyncLocalStorage<Call[]>();

runtime().client.middlewareStack.add(
  (next, { commandName = "" }) =>
    (args) => {
      const key = "Key" in args.input ? (args.input.Key as { PK?: unknown } | undefined) : undefined;
      recorded.getStore()?.push({ command: commandName, kind: String(key?.PK).split("#")[0] });
      return next(args);
    },
  { step: "initialize", name: "recorded" },
);

// The commands that the read actions of infra/constructs/functions.ts allow.
const reads = new Set(["GetItemCommand", "BatchGetItemCommand", "QueryCommand"]);

test.each(routes.filter(({ access, capability }) => access === "read" && capability !== null))(
  "$name writes nothing but that it was called: its caller's bucket and the use of a token, by single updates",
  async (route) => {
    const account = await newAccount();
    const example = (await examples[route.name]?.(account)) ?? {};
    const caller = await newServiceAccount(account, { owner: true });
    const calls: Call[] = [];
    const { status } = await recorded.run(calls, () => callRest(route, example, caller.token));
    expect(status).toBe(route.status);
    const writes = calls.filter(({ command }) => !reads.has(command));
    expect(writes.map(({ command }) => command)).toEqual(["UpdateItemCommand", "UpdateItemCommand"]);
    expect(new Set(writes.map(({ kind }) => kind))).toEqual(new Set(["RATE", "TOKEN"]));
  },
);
