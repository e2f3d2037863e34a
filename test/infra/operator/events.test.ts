import { randomUUID } from "node:crypto";

import { afterEach, expect, test, vi } from "vitest";

import { deadLettersIn, eventsIn } from "../../../infra/local/events/event-log.ts";
import { eventQueueIn } from "../../../infra/local/events/event-queue.ts";
import { ensureTable } from "../../../infra/local/table/engine.ts";
import { localTableName } from "../../../infra/local/table/lock.ts";
import type { TableLocation } from "../../../infra/operator/commands.ts";
import { eventCommands } from "../../../infra/operator/event-commands.ts";
import { createAccount, createClient } from "../../../shared/access/operate-accounts.ts";
import type { Event } from "../../../shared/changes/record.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import { changeOf, labelOf, newTable, record, recordPoison } from "../../support/changes.ts";
import { startEventBus, takeAll } from "../../support/event-bus.ts";
import { newFolder } from "../../support/folder.ts";
import { operatorIn } from "./command-line.ts";

afterEach(() => vi.unstubAllEnvs());

/** Runs a command of `events` on a table. Resolves to its answer. */
const run = (name: string, table: Table, options: Record<string, string>, place: Partial<TableLocation> = {}) =>
  eventCommands[`events ${name}`]?.run(table, options, { open: () => table, ...place });

/** Runs the operator's command in a new process: with the environment of the tests without `TABLE_NAME`, and `env`. */
function operator(env: NodeJS.ProcessEnv, ...args: string[]) {
  const { TABLE_NAME: _, ...rest } = process.env;
  return operatorIn({ ...rest, ...env }, ...args);
}

/** The table that a command without `--table` uses. */
async function localTable(): Promise<Table> {
  await ensureTable(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", localTableName);
  return openTable(new TableClient(), localTableName);
}

/** Creates an account, dated long ago, whose thing `a` changed on each of three days. */
async function accountIn(table: Table): Promise<string> {
  const client = await createClient(table, "Replayed");
  const input = { client, name: "Replayed", ownerId: randomUUID() };
  const { id } = await createAccount(table, input, new Date("2026-01-01"));
  for (const n of [1, 2, 3]) await record(table, id, [changeOf("a", n)], new Date(`2026-03-0${n}`));
  return id;
}

test("a replay publishes the changes of an account in a span of time, oldest first, to the local log and queue", async () => {
  const [table, folder] = [await localTable(), newFolder()];
  const account = await accountIn(table);
  // The replay leaves out the changes of this second account.
  await accountIn(table);
  await recordPoison(table, account, new Date("2026-03-02T01:00:00Z"));
  const span = ["--since", "2026-03-01T00:00:00Z", "--until", "2026-03-03"];
  const args = ["events", "replay", ...span, "--account", account, "--json"];
  const { out } = await operator({ DATA_DIR: folder }, ...args);
  expect(JSON.parse(out)).toEqual({ accounts: 1, published: 2, unreadable: 1 });
  const published = (await eventsIn(folder).read()) as Event[];
  expect(published.map(labelOf)).toEqual(["a1", "a2"]);
  expect(published.map(({ account_id }) => account_id)).toEqual([account, account]);
  expect(await eventQueueIn(folder).ids()).toEqual(published.map(({ id }) => id));
});

test("a replay of a deployed table publishes the changes of all accounts to the bus in --bus", async () => {
  const bus = await startEventBus();
  const table = await newTable();
  const accounts = [await accountIn(table), await accountIn(table)];
  const counts = await run("replay", table, { since: "2026-02-01", bus: "hosted-mail-blue" });
  expect(counts).toEqual({ accounts: 2, published: 6, unreadable: 0 });
  for (const account of accounts) {
    const own = bus.details().filter(({ account_id }) => account_id === account);
    expect(own.map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  }
  const names = bus.calls.flatMap(({ entries }) => entries.map(({ EventBusName }) => EventBusName));
  expect(new Set(names)).toEqual(new Set(["hosted-mail-blue"]));
});

test("a replay fails if the bus refuses an event, counts the published events, and sends no later event of the resource", async () => {
  const denied = { status: 400, body: { __type: "AccessDeniedException", message: "No" } };
  const bus = await startEventBus((call, count) => (count === 2 ? denied : takeAll(call)));
  vi.stubEnv("EVENT_BUS", "hosted-mail-blue");
  const table = await newTable();
  await accountIn(table);
  await expect(run("replay", table, { since: "2026-02-01" })).rejects.toThrow(
    /1 events were published\. 2 events of account .* 2026-03-02T00:00:00\.000Z/,
  );
  expect(bus.details().map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }]);
});

test("a replay of a deployed table needs --bus, and dead-letters refuses a deployed table", async () => {
  const table = await newTable();
  await expect(run("replay", table, { since: "2026-02-01" })).rejects.toThrow("--bus");
  await expect(run("dead-letters", table, {})).rejects.toThrow("docs/operators-events.md");
});

test("dead-letters lists the local dead letters, newest first", async () => {
  const dataDir = newFolder();
  const letters = [1, 2].map((n) => ({
    at: `2026-03-0${n}`,
    pk: "ACCOUNT#a",
    sk: `JOURNAL#${n}`,
    reason: "unreadable",
  }));
  await deadLettersIn(dataDir).append(letters);
  const answer = await run("dead-letters", await newTable(), {}, { dataDir });
  expect(answer).toEqual({ count: 2, dead_letters: letters.toReversed() });
});

test("a replay with wrong options ends with code 2 and names every wrong option", async () => {
  const args = ["--until", "yesterday", "--account", "42"];
  const { code, err } = await operator({}, "events", "replay", ...args);
  expect(code).toBe(2);
  for (const what of [/--since is missing/, /--until: Not a time/, /--account: Not a UUID/]) expect(err).toMatch(what);
});
