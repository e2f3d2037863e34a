import { setTimeout as delay } from "node:timers/promises";

import {
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  RestoreTableToPointInTimeCommand,
} from "@aws-sdk/client-dynamodb";

import { TableClient } from "../../shared/table/client.ts";
import { openTable } from "../../shared/table/table.ts";
import { type Comparison, compare } from "./compare.ts";

/** How to wait for DynamoDB. Restoring a table takes minutes to hours. */
type WaitOptions = { pollMs: number; signal: AbortSignal; onWait: (status: string) => void };

/**
 * Returns the requested time. Without a requested time, returns the latest time to which the table can be restored.
 * Throws if the table cannot be restored to the requested time.
 */
async function restorePoint(client: DynamoDBClient, table: string, requested: Date | undefined): Promise<Date> {
  const { ContinuousBackupsDescription } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName: table }),
  );
  const recovery = ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const { EarliestRestorableDateTime: earliest, LatestRestorableDateTime: latest } = recovery ?? {};
  if (recovery?.PointInTimeRecoveryStatus !== "ENABLED" || !earliest || !latest) {
    throw new Error(`The table ${table} cannot be restored, because point-in-time recovery is not enabled.`);
  }
  if (requested !== undefined && (requested < earliest || requested > latest)) {
    throw new Error(
      `Choose a time from ${earliest.toISOString()} to ${latest.toISOString()}. The table cannot be restored to another time.`,
    );
  }
  return requested ?? latest;
}

/** Begins to restore the state of a table at a given time to a new table. */
async function beginRestore(client: DynamoDBClient, source: string, target: string, at: Date): Promise<void> {
  await client.send(
    new RestoreTableToPointInTimeCommand({ SourceTableName: source, TargetTableName: target, RestoreDateTime: at }),
  );
}

/** Waits until the table is ready. Throws if the wait is aborted. */
async function untilActive(client: DynamoDBClient, table: string, waiting: WaitOptions): Promise<void> {
  for (;;) {
    waiting.signal.throwIfAborted();
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    const status = Table?.TableStatus ?? "unknown";
    if (status === "ACTIVE") return;
    waiting.onWait(status);
    await delay(waiting.pollMs, undefined, { signal: waiting.signal });
  }
}

/** Deletes the table. Returns false if DynamoDB is still restoring the table, and so cannot delete it yet. */
async function remove(client: DynamoDBClient, table: string): Promise<boolean> {
  try {
    await client.send(new DeleteTableCommand({ TableName: table }));
    return true;
  } catch (error) {
    if (error instanceof ResourceInUseException) return false;
    throw error;
  }
}

type Rehearsal = {
  table: string;
  /** The number of accounts to compare. */
  sample: number;
  /** The time to which the table is restored. By default the latest possible time. */
  at?: Date | undefined;
  /** Whether the restored table is kept. */
  keep: boolean;
  pollMs: number;
  signal: AbortSignal;
  say: (line: string) => void;
  now: () => Date;
};

type Rehearsed = Comparison & { at: Date; scratch: string; seconds: number };

/**
 * The name of the temporary table: `hosted-mail-…-rehearsal-20261122T093000Z`. The table's own name is cut, because a
 * name has at most 255 characters.
 */
const scratchName = (table: string, now: Date): string =>
  `${table.slice(0, 220)}-rehearsal-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;

/**
 * Restores a table to a new table, and compares the two. Reports each step. Only reads the source.
 * - Deletes the new table, also after a failure. Does not delete it if `keep` is set, or if DynamoDB is still restoring
 *   it. In these two cases, prints the command that deletes the table.
 * - Rejects if the table cannot be restored, or if `signal` aborts the wait or the comparison.
 */
export async function rehearse(rehearsal: Rehearsal): Promise<Rehearsed> {
  const { table, say, now, sample } = rehearsal;
  const client = new DynamoDBClient({ maxAttempts: 5 });
  try {
    const at = await restorePoint(client, table, rehearsal.at);
    const scratch = scratchName(table, now());
    const startedAt = now().getTime();
    await beginRestore(client, table, scratch, at);
    say(`Restoring ${table} to ${scratch}, as of ${at.toISOString()}.`);
    try {
      const elapsed = () => Math.round((now().getTime() - startedAt) / 1_000);
      const onWait = (status: string) => say(`${scratch} is ${status} after ${elapsed()} s.`);
      await untilActive(client, scratch, { ...rehearsal, onWait });
      const seconds = elapsed();
      say(`Restored after ${seconds} s. Comparing up to ${sample} accounts.`);
      const documents = new TableClient();
      const [source, restored] = [openTable(documents, table), openTable(documents, scratch)];
      const compared = await compare({ source, restored, at }, sample, rehearsal.signal);
      return { ...compared, at, scratch, seconds };
    } finally {
      await deleteOrKeep(client, scratch, rehearsal);
    }
  } finally {
    client.destroy();
  }
}

async function deleteOrKeep(client: DynamoDBClient, scratch: string, { keep, say }: Rehearsal): Promise<void> {
  const command = `aws dynamodb delete-table --table-name ${scratch}`;
  if (keep) say(`${scratch} is kept, and its storage costs money. Delete it with: ${command}`);
  else if (await remove(client, scratch)) say(`Deleted ${scratch}.`);
  else say(`${scratch} cannot be deleted while it is being restored. When it is ACTIVE, run: ${command}`);
}
