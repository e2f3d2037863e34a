import * as z from "zod";

import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { Migration } from "./migration.ts";

/*
 * Access patterns
 *   the progress of a migration        MIGRATIONS / MIGRATION#<name>
 *   the failures of a migration        MIGRATIONS / FAILED#<name>#<account>
 *   the claim of the running process   MIGRATIONS / ~CLAIM
 */
const globalPartition = "MIGRATIONS";
const progressKey = (name: string): Key => ({ PK: globalPartition, SK: `MIGRATION#${name}` });
const failedKey = (name: string, accountId: string): Key => ({
  PK: globalPartition,
  SK: `FAILED#${name}#${accountId}`,
});
export const claimKey: Key = { PK: globalPartition, SK: "~CLAIM" };

const StoredProgress = z.object({
  /** When a worker first saw the migration. */
  seen_at: z.string(),
  started_at: z.string().optional(),
  finished_at: z.string().optional(),
  /** How many accounts were tried, in the order of the list of all accounts. The next account is at this position. */
  accounts: z.int(),
  /** How many rows were written. If a process dies, the rows of the page that it was working on are not counted. */
  rows: z.int(),
  version: z.int(),
});
export type MigrationProgress = z.output<typeof StoredProgress>;

/**
 * An account in which a migration failed. The migration is tried again at `retry_at`. `error` is the name of the error.
 */
const FailedAccount = z.object({
  account_id: z.string(),
  error: z.string(),
  failed_at: z.string(),
  retry_at: z.string(),
});
export type FailedAccount = z.output<typeof FailedAccount>;

/**
 * The progress of each migration; undefined for a migration that no worker has seen. Takes one read for each migration.
 */
export async function readProgress(
  table: Reader,
  migrations: readonly Migration[],
): Promise<(MigrationProgress | undefined)[]> {
  const items = await table.getMany(migrations.map(({ name }) => progressKey(name)));
  return items.map((item) => item && StoredProgress.parse(item));
}

/** Notes when a worker first saw a migration. */
export async function noteSeen(table: Table, name: string, now: Date): Promise<void> {
  const progress: MigrationProgress = { seen_at: now.toISOString(), accounts: 0, rows: 0, version: 1 };
  await table.attempt({ put: { ...progressKey(name), ...progress }, if: "absent" });
}

/**
 * Stores the progress of a migration. Returns undefined if another process has changed the progress since this process
 * read it.
 */
export async function saveProgress(
  table: Table,
  name: string,
  progress: MigrationProgress,
): Promise<MigrationProgress | undefined> {
  const next = { ...progress, version: progress.version + 1 };
  const { done } = await table.attempt({
    put: { ...progressKey(name), ...next },
    if: { version: progress.version },
  });
  return done ? next : undefined;
}

/** The accounts where a migration failed, by their ids. */
export async function failedAccounts(table: Reader, name: string): Promise<FailedAccount[]> {
  const prefix = `FAILED#${name}#`;
  const items = await table.between(globalPartition, prefix, `${prefix}~`);
  return items.map((item) => FailedAccount.parse(item));
}

export const noteFailed = (name: string, failed: FailedAccount): Write => ({
  put: { ...failedKey(name, failed.account_id), ...failed },
});

export const forgetFailed = (name: string, accountId: string): Write => ({ delete: failedKey(name, accountId) });

/**
 * Forgets the progress of a migration, so that the migration begins again. Returns false if the migration has no
 * progress.
 */
export async function forgetProgress(table: Table, name: string): Promise<boolean> {
  for (const { account_id } of await failedAccounts(table, name)) await table.attempt(forgetFailed(name, account_id));
  const { done } = await table.attempt({ delete: progressKey(name), if: "present" });
  return done;
}
