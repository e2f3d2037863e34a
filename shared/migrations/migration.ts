import { queueExpiries } from "../access/service-account.ts";
import { changeJournalOf } from "../changes/record.ts";
import { indexFeedback } from "../feedback/own.ts";
import { completeRules } from "../mail/forwarding/rule.ts";
import { packNames } from "../mail/mailboxes/names.ts";
import { indexEntries } from "../table/journal.ts";
import type { Table } from "../table/table.ts";

export type MigrationContext = { table: Table; now: () => Date };

/**
 * A change of the rows that earlier versions stored in an account. A call of `migrate` can die after any access to the
 * table, and customers can change the account during the call. The next call for the account then does the rest. If
 * nothing is left to do, a call changes nothing.
 */
export type Migration = {
  /** The name in the table. It never changes. */
  name: string;
  /** What the migration does, in one sentence for operators. */
  summary: string;
  migrate: (accountId: string, context: MigrationContext) => Promise<void>;
};

/** All migrations, in the order in which they run. No migration may rely on another. */
export const migrations: readonly Migration[] = [
  {
    name: "audit_log_index",
    summary: "Indexes the days of the audit log that have no index.",
    migrate: (accountId, { table, now }) =>
      indexEntries(table, changeJournalOf(accountId), { since: new Date(0) }, now()),
  },
  {
    name: "mailbox_names",
    summary: "Packs the names, aliases and statuses of mailboxes for searches.",
    migrate: (accountId, { table }) => packNames(table, accountId),
  },
  {
    name: "own_feedback",
    summary: "Adds feedback to the lists of its submitters.",
    migrate: (accountId, { table }) => indexFeedback(table, accountId),
  },
  {
    name: "forwarding_targets",
    summary: "Stores the members that forwarding rules of version 0.1.0 lack.",
    migrate: (accountId, { table }) => completeRules(table, accountId),
  },
  {
    name: "service_expiries",
    summary: "Queues the expiry notices and the revocation of service accounts with an end date.",
    migrate: (accountId, { table, now }) => queueExpiries(table, accountId, now()),
  },
];

/**
 * Runs all migrations for one account, whatever their progress. Returns the migrations that failed, with their errors.
 */
export async function migrateAccount(accountId: string, context: MigrationContext): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, migrate } of migrations) {
    await migrate(accountId, context).catch((error: unknown) => failed.push(`migration ${name}: ${String(error)}`));
  }
  return failed;
}
