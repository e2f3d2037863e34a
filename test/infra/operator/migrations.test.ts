import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { migrationCommands } from "../../../infra/operator/migration-commands.ts";
import { createLog } from "../../../shared/core/log.ts";
import { hourMs } from "../../../shared/core/time.ts";
import { migrations } from "../../../shared/migrations/migration.ts";
import { sweepMigrations } from "../../../shared/migrations/sweep.ts";
import { listedAccount } from "../../support/changes.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";
import { operator } from "./command-line.ts";

const names = migrations.map(({ name }) => name);

/** A new table with two accounts. The account `bad` has a row that cannot be read. */
async function newScene() {
  const table = openMemoryTable(createMemoryStore());
  const [, bad] = [await listedAccount(table), await listedAccount(table)];
  const row = { version: 1, target_email: "ada@example.com" };
  await table.attempt({ put: { PK: `ACCOUNT#${bad}`, SK: "LIST#forwarding#ROW#0000000000", ...row } });
  const clock = { at: new Date("2026-12-01T00:00:00Z") };
  const context = { table, now: () => clock.at, log: createLog("silent", {}), requestId: randomUUID() };
  const run = (name: string, options = {}) => migrationCommands[name]?.run(table, options, { open: () => table });
  return {
    bad,
    run,
    sweep: () => sweepMigrations(context),
    pass: (ms: number) => void (clock.at = new Date(clock.at.getTime() + ms)),
    shown: async () => {
      const answer = (await run("migrations")) as Record<string, unknown>;
      return migrationCommands["migrations"]?.linesOf?.(answer) ?? [];
    },
  };
}

test("migrations shows for each migration the state, the counts of accounts and rows, and the accounts where it failed", async () => {
  const { run, sweep, pass, shown, bad } = await newScene();
  expect(await run("migrations")).toMatchObject({
    accounts: 2,
    migrations: names.map((name) => ({ name, state: "new" })),
  });
  await sweep();
  expect(await run("migrations")).toMatchObject({
    migrations: names.map((name) => ({ name, state: "waiting", since: "2026-12-01T00:00:00.000Z" })),
  });
  pass(hourMs);
  await sweep();
  expect(await shown()).toEqual([
    "name                state     accounts done  rows changed  failed  since",
    "audit_log_index     finished  2 of 2         0             0       2026-12-01T01:00:00.000Z",
    "mailbox_names       finished  2 of 2         0             0       2026-12-01T01:00:00.000Z",
    "own_feedback        finished  2 of 2         0             0       2026-12-01T01:00:00.000Z",
    "forwarding_targets  failing   1 of 2         0             1       2026-12-01T01:00:00.000Z",
    "service_expiries    finished  2 of 2         0             0       2026-12-01T01:00:00.000Z",
    `forwarding_targets failed in account ${bad} at 2026-12-01T01:00:00.000Z: ZodError`,
  ]);
});

test("migrations restart starts a migration again", async () => {
  const { run, sweep, pass } = await newScene();
  expect(await run("migrations restart", { name: "own_feedback" })).toEqual({ name: "own_feedback", restarted: false });
  await sweep();
  pass(hourMs);
  await sweep();
  expect(await run("migrations restart", { name: "own_feedback" })).toMatchObject({ restarted: true });
  const { migrations: all } = (await run("migrations")) as { migrations: { name: string; state: string }[] };
  expect(all.filter(({ state }) => state === "new").map(({ name }) => name)).toEqual(["own_feedback"]);
});

test("migrations prints JSON with --json, and restart refuses an unknown migration", async () => {
  const { code, out } = await operator("migrations", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out).migrations.map(({ name }: { name: string }) => name)).toEqual(names);
  expect((await operator("migrations")).out).toMatch(/^name +state +accounts done/);
  expect(await operator("migrations", "restart", "--name", "nothing")).toMatchObject({ code: 2 });
});
