import { AccountPointer, accountsMatching } from "../accounts/account.ts";
import { mapConcurrently, allFulfilled } from "../core/concurrency.ts";
import { Problem } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { hourMs, later, minuteMs } from "../core/time.ts";
import { withClaim } from "../table/claim.ts";
import type { Plan } from "../table/commit.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { type Migration, type MigrationContext, migrations as allMigrations } from "./migration.ts";
import {
  claimKey,
  failedAccounts,
  forgetFailed,
  noteFailed,
  noteSeen,
  type MigrationProgress,
  readProgress,
  saveProgress,
} from "./progress.ts";

export type SweepContext = MigrationContext & { log: Log; requestId: string };
type MigrationBounds = {
  migrations?: readonly Migration[];
  /** The number of accounts after which a run begins no further account. */
  most?: number;
  atOnce?: number;
  /** How many accounts are tried before the progress is stored. */
  pageSize?: number;
  budgetMs?: number;
};

/**
 * The result of one run: how many accounts it tried, how many of them failed, how many rows it wrote, and how many
 * migrations are unfinished.
 */
export type MigrationsSwept = { accounts: number; failed: number; rows: number; unfinished: number };

/**
 * The time from when a worker first sees a migration until the migration begins, in milliseconds. A deployment takes
 * less time. So when the migration begins, no code of the former version stores rows of the former form any more.
 */
export const beginAfterMs = hourMs;

/**
 * How long a claim lasts, in milliseconds. The worker that migrates rows is stopped earlier, so a living process keeps
 * its claim.
 */
const claimMs = 6 * minuteMs;

const retryAfterMs = hourMs;

/**
 * If a migration has failed in this many accounts, only these accounts are tried again, because the migration is
 * probably wrong.
 */
const mostFailed = 100;

/**
 * Goes on with the first migration that is not finished, and then with the next, until `budgetMs` milliseconds are over
 * or `most` accounts were tried. Only one process runs migrations at a time.
 * - A migration goes through the list of all accounts once, oldest first. Accounts that are created meanwhile are at
 *   the end of the list.
 * - An account that fails is logged and stored, and tried again after an hour. Other accounts do not wait for it,
 *   unless the migration has failed in 100 accounts.
 * - A migration is finished when it has succeeded in every account. From then on, each run only reads the progress of
 *   the migration.
 * - A process may die at any time. The next run repeats the accounts of at most one page, or failed accounts that were
 *   being tried again.
 */
export async function sweepMigrations(context: SweepContext, bounds: MigrationBounds = {}): Promise<MigrationsSwept> {
  const { table, now, requestId } = context;
  const { migrations = allMigrations } = bounds;
  const stored = await readProgress(table, migrations);
  for (const [index, { name }] of migrations.entries()) if (!stored[index]) await noteSeen(table, name, now());
  const unfinished = stored.filter((progress) => progress?.finished_at === undefined).length;
  const swept: MigrationsSwept = { accounts: 0, failed: 0, rows: 0, unfinished };
  if (!stored.some((progress) => isDue(progress, now()))) return swept;
  const claim = { by: requestId, now, forMs: claimMs };
  await withClaim(table, claimKey, claim, () => runMigrations(context, { ...bounds, migrations }, swept));
  return swept;
}

const isDue = (progress: MigrationProgress | undefined, now: Date): progress is MigrationProgress =>
  progress !== undefined &&
  progress.finished_at === undefined &&
  later(new Date(progress.seen_at), beginAfterMs) <= now.toISOString();

/** Runs the migrations in their order. Adds the counts to `swept`. */
async function runMigrations(
  context: SweepContext,
  {
    migrations,
    most = 500,
    atOnce = 2,
    pageSize = 20,
    budgetMs = 40_000,
  }: MigrationBounds & { migrations: readonly Migration[] },
  swept: MigrationsSwept,
): Promise<void> {
  const startedMs = performance.now();
  const isOver = (): boolean => swept.accounts >= most || performance.now() - startedMs > budgetMs;
  const stored = await readProgress(context.table, migrations);
  for (const [index, migration] of migrations.entries()) {
    const progress = stored[index];
    if (!isDue(progress, context.now()) || isOver()) continue;
    if (await runMigration(migration, progress, context, { atOnce, pageSize, isOver, swept })) swept.unfinished -= 1;
  }
}

type RunBounds = { atOnce: number; pageSize: number; isOver: () => boolean; swept: MigrationsSwept };

/** Goes on with a migration. Returns whether the migration is finished now. */
async function runMigration(
  migration: Migration,
  stored: MigrationProgress,
  context: SweepContext,
  bounds: RunBounds,
): Promise<boolean> {
  const { table, now } = context;
  const { name } = migration;
  const save = async (next: MigrationProgress): Promise<MigrationProgress | undefined> =>
    saveProgress(table, name, next);
  let progress: MigrationProgress | undefined = { started_at: now().toISOString(), ...stored };
  const waiting = await failedAccounts(table, name);
  let failures = waiting.length;
  const due = waiting.filter(({ retry_at }) => retry_at <= now().toISOString()).map(({ account_id }) => account_id);
  if (due.length > 0) {
    const tried = await tryAccounts(migration, due, context, bounds);
    for (const accountId of tried.succeeded) await table.attempt(forgetFailed(name, accountId));
    failures -= tried.succeeded.length;
    progress = await save({ ...progress, rows: progress.rows + tried.rows });
  }
  while (progress && failures < mostFailed && !bounds.isOver()) {
    const allAccounts = accountsMatching({});
    const { rows } = await readRows(table, allAccounts, { skip: progress.accounts, take: bounds.pageSize });
    if (rows.length === 0) {
      if (failures > 0) return false;
      return (await save({ ...progress, finished_at: now().toISOString() })) !== undefined;
    }
    const ids = rows.map((row) => AccountPointer.parse(row).account_id);
    const tried = await tryAccounts(migration, ids, context, bounds);
    failures += tried.failed;
    const accounts = progress.accounts + tried.failed + tried.succeeded.length;
    progress = await save({ ...progress, accounts, rows: progress.rows + tried.rows });
  }
  return false;
}

type Tried = { succeeded: string[]; failed: number; rows: number };

/** Migrates accounts, in their order, until the run is over. Throws if a failure cannot be stored. */
async function tryAccounts(
  migration: Migration,
  ids: readonly string[],
  context: SweepContext,
  { atOnce, isOver, swept }: RunBounds,
): Promise<Tried> {
  const tried: Tried = { succeeded: [], failed: 0, rows: 0 };
  const results = await mapConcurrently(
    ids,
    atOnce,
    async (accountId) => {
      const { table, changed } = countChanges(context.table);
      try {
        await migration.migrate(accountId, { ...context, table });
        tried.succeeded.push(accountId);
      } catch (error) {
        await storeFailure(migration.name, accountId, error, context);
        tried.failed += 1;
        swept.failed += 1;
      } finally {
        tried.rows += changed();
        swept.rows += changed();
        swept.accounts += 1;
      }
    },
    isOver,
  );
  allFulfilled(results);
  return tried;
}

async function storeFailure(
  name: string,
  accountId: string,
  error: unknown,
  { table, now, log }: SweepContext,
): Promise<void> {
  log.error("account not migrated", { account_id: accountId, migration: name, error: String(error) });
  const errorName = error instanceof Problem ? error.code : error instanceof Error ? error.name : "unknown";
  const times = { failed_at: now().toISOString(), retry_at: later(now(), retryAfterMs) };
  await table.attempt(noteFailed(name, { account_id: accountId, error: errorName, ...times }));
}

const isChange = (write: Write): boolean => !("check" in write);

/** A table that counts the rows that are written through it. */
function countChanges(table: Table): { table: Table; changed: () => number } {
  let changed = 0;
  return {
    table: {
      ...table,
      attempt: async (write) => {
        const attempt = await table.attempt(write);
        if (attempt.done) changed += 1;
        return attempt;
      },
      commit: async <T>(plan: () => Promise<Plan<T>>) => {
        let planned = 0;
        const value = await table.commit(async () => {
          const made = await plan();
          planned = made.writes.filter(isChange).length;
          return made;
        });
        changed += planned;
        return value;
      },
    },
    changed: () => changed,
  };
}
