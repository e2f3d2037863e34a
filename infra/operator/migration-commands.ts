import * as z from "zod";

import { accountsMatching } from "../../shared/accounts/account.ts";
import { clock } from "../../shared/core/time.ts";
import { migrations, type Migration } from "../../shared/migrations/migration.ts";
import {
  failedAccounts,
  forgetProgress,
  type MigrationProgress,
  readProgress,
} from "../../shared/migrations/progress.ts";
import { beginAfterMs } from "../../shared/migrations/sweep.ts";
import { readRows } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Command } from "./commands.ts";

const names = migrations.map(({ name }) => name);

/**
 * The state of a migration, and the time since which it has this state. For `failing`, the time is the start of the
 * migration. `new` means that no worker has seen the migration yet.
 */
function phaseOf(progress: MigrationProgress | undefined, failed: number): { state: string; since: string | null } {
  if (!progress) return { state: "new", since: null };
  const { seen_at, started_at, finished_at } = progress;
  if (finished_at !== undefined) return { state: "finished", since: finished_at };
  if (started_at === undefined) return { state: "waiting", since: seen_at };
  return { state: failed > 0 ? "failing" : "running", since: started_at };
}

async function describe(table: Table, { name, summary }: Migration, progress: MigrationProgress | undefined) {
  const failed = await failedAccounts(table, name);
  return {
    name,
    ...phaseOf(progress, failed.length),
    accounts_done: (progress?.accounts ?? 0) - failed.length,
    rows_changed: progress?.rows ?? 0,
    failed: failed.length,
    summary,
    failures: failed.map(({ account_id, error, failed_at }) => ({ account_id, error, failed_at })),
  };
}

type ShownMigration = Awaited<ReturnType<typeof describe>>;

async function showMigrations(table: Table) {
  const progress = await readProgress(table, migrations);
  const shown = await Promise.all(migrations.map((migration, index) => describe(table, migration, progress[index])));
  const { total } = await readRows(table, accountsMatching({}), { skip: 0, take: 0 });
  return { accounts: total, migrations: shown };
}

/** Writes rows as lines. All cells of a column have the same width. */
function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function reportOf(answer: Record<string, unknown>): string[] {
  const { accounts, migrations: shown } = answer as { accounts: number; migrations: ShownMigration[] };
  const heading = ["name", "state", "accounts done", "rows changed", "failed", "since"];
  const rows = shown.map(({ name, state, accounts_done, rows_changed, failed, since }) => [
    name,
    state,
    `${accounts_done} of ${accounts}`,
    `${rows_changed}`,
    `${failed}`,
    since ?? "",
  ]);
  const failures = shown.flatMap(({ name, failures: all }) =>
    all.map(({ account_id, error, failed_at }) => `${name} failed in account ${account_id} at ${failed_at}: ${error}`),
  );
  return [...inColumns([heading, ...rows]), ...failures];
}

/** The operator's commands for the migrations of stored rows: docs/operations.md. */
export const migrationCommands: Record<string, Command> = {
  migrations: {
    summary: "Show the progress of the migrations, which convert rows of earlier versions to their present form.",
    options: {},
    run: showMigrations,
    linesOf: reportOf,
  },
  "migrations restart": {
    summary: "Begin a migration again. Needed after an earlier version of the product has stored rows.",
    options: { name: { description: `The migration: ${names.join(", ")}.`, schema: z.enum(names) } },
    run: async (table, { name = "" }) => {
      const restarted = await forgetProgress(table, name);
      const begins = new Date(clock().getTime() + beginAfterMs).toISOString();
      return { name, restarted, ...(restarted ? { begins_after: begins } : {}) };
    },
  },
};
