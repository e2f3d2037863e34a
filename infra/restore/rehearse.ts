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

/** How to wait for DynamoDB, which takes from minutes to hours to restore a table. */
type Waiting = { pollMs: number; signal: AbortSignal; onWait: (status: string) => void };

/**
 * The requested time, or else the latest time that a table can be restored to. Throws if the table cannot be restored
 * to the requested time.
 */
async function restorePoint(client: DynamoDBClient, table: string, asked: Date | undefined): Promise<Date> {
  const { ContinuousBackupsDescription } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName: table }),
  );
  const recovery = ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const { EarliestRestorableDateTime: earliest, LatestRestorableDateTime: latest } = recovery ?? {};
  if (recovery?.PointInTimeRecoveryStatus !== "ENABLED" || !earliest || !latest) {
    throw new Error(`The table ${table} cannot be restored, because point-in-time recovery is not enabled.`);
  }
  if (asked !== undefined && (asked < earliest || asked > latest)) {
    throw new Error(
      `Choose a time from ${earliest.toISOString()} to ${latest.toISOString()}. The table cannot be restored to another time.`,
    );
  }
  return asked ?? latest;
}

/** Begins to restore a table, as it was at a given time, to a new table. */
async function beginRestore(client: DynamoDBClient, source: string, target: string, at: Date): Promise<void> {
  await client.send(
    new RestoreTableToPointInTimeCommand({ SourceTableName: source, TargetTableName: target, RestoreDateTime: at }),
  );
}

/** Waits until the table is ready. Throws when the wait is aborted. */
async function untilActive(client: DynamoDBClient, table: string, waiting: Waiting): Promise<void> {
  for (;;) {
    waiting.signal.throwIfAborted();
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    const status = Table?.TableStatus ?? "unknown";
    if (status === "ACTIVE") return;
    waiting.onWait(status);
    await delay(waiting.pollMs, undefined, { signal: waiting.signal });
  }
}

/** Deletes the table; false when DynamoDB cannot delete it yet because it is still being restored. */
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
  /** How many accounts to compare. */
  sample: number;
  /** The time to restore to; by default the latest possible time. */
  at?: Date | undefined;
  /** Keeps the restored table. */
  keep: boolean;
  pollMs: number;
  signal: AbortSignal;
  say: (line: string) => void;
  now: () => Date;
};

type Rehearsed = Comparison & { at: Date; scratch: string; seconds: number };

/** The name of the temporary table, used by nothing else: `hosted-mail-…-rehearsal-20261122T093000Z`. */
const scratchName = (table: string, now: Date): string =>
  `${table.slice(0, 220)}-rehearsal-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;

/**
 * Restores a table to a new table, compares the two, and always deletes the new one. Reports each step. Only reads the
 * source. Rejects when the table cannot be restored, and when the rehearsal is aborted.
 */
export async function rehearse(rehearsal: Rehearsal): Promise<Rehearsed> {
  const { table, say, now, sample } = rehearsal;
  const client = new DynamoDBClient({ maxAttempts: 5 });
  try {
    const at = await restorePoint(client, table, rehearsal.at);
    const scratch = scratchName(table, now());
    const startedAt = now().getTime();
    await beginRestore(client, table, scratch, at);
    say(`Restoring ${table} as of ${at.toISOString()} to ${scratch}.`);
    try {
      const elapsed = () => Math.round((now().getTime() - startedAt) / 1_000);
      const onWait = (status: string) => say(`${scratch} is ${status} after ${elapsed()} s.`);
      await untilActive(client, scratch, { ...rehearsal, onWait });
      const seconds = elapsed();
      say(`Restored after ${seconds} s. Comparing up to ${sample} accounts.`);
      const documents = new TableClient();
      const [source, restored] = [openTable(documents, table), openTable(documents, scratch)];
      return { ...(await compare({ source, restored, at }, sample)), at, scratch, seconds };
    } finally {
      await letGo(client, scratch, rehearsal);
    }
  } finally {
    client.destroy();
  }
}

async function letGo(client: DynamoDBClient, scratch: string, { keep, say }: Rehearsal): Promise<void> {
  const command = `aws dynamodb delete-table --table-name ${scratch}`;
  if (keep) say(`${scratch} is kept, and its storage costs money. Delete it with: ${command}`);
  else if (await remove(client, scratch)) say(`Deleted ${scratch}.`);
  else say(`${scratch} cannot be deleted while it is being restored. When it is ACTIVE, run: ${command}`);
}
