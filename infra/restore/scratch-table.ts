import { setTimeout as delay } from "node:timers/promises";

import {
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  ResourceInUseException,
  RestoreTableToPointInTimeCommand,
  type DynamoDBClient,
} from "@aws-sdk/client-dynamodb";

/** How to wait for DynamoDB: it takes from minutes to hours to restore a table. */
export type Waiting = { pollMs: number; signal: AbortSignal; onWait: (status: string) => void };

/** The latest moment that a table can be restored to, or an asked one. Throws when it cannot be. */
export async function restorePoint(client: DynamoDBClient, table: string, asked: Date | undefined): Promise<Date> {
  const { ContinuousBackupsDescription } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName: table }),
  );
  const recovery = ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const { EarliestRestorableDateTime: earliest, LatestRestorableDateTime: latest } = recovery ?? {};
  if (recovery?.PointInTimeRecoveryStatus !== "ENABLED" || !earliest || !latest) {
    throw new Error(`The table ${table} cannot be restored: point-in-time recovery is not enabled.`);
  }
  if (asked !== undefined && (asked < earliest || asked > latest)) {
    throw new Error(`It can be restored to moments from ${earliest.toISOString()} to ${latest.toISOString()} only.`);
  }
  return asked ?? latest;
}

/** Begins to restore a table as it was at a moment to another one that is not there yet. */
export async function beginRestore(client: DynamoDBClient, source: string, target: string, at: Date): Promise<void> {
  await client.send(
    new RestoreTableToPointInTimeCommand({ SourceTableName: source, TargetTableName: target, RestoreDateTime: at }),
  );
}

/** Waits until the table can be used. Throws when it is aborted. */
export async function untilActive(client: DynamoDBClient, table: string, waiting: Waiting): Promise<void> {
  for (;;) {
    waiting.signal.throwIfAborted();
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    const status = Table?.TableStatus ?? "unknown";
    if (status === "ACTIVE") return;
    waiting.onWait(status);
    await delay(waiting.pollMs, undefined, { signal: waiting.signal });
  }
}

/** Deletes the table; false when DynamoDB does not delete it yet, as it is still being restored. */
export async function remove(client: DynamoDBClient, table: string): Promise<boolean> {
  try {
    await client.send(new DeleteTableCommand({ TableName: table }));
    return true;
  } catch (error) {
    if (error instanceof ResourceInUseException) return false;
    throw error;
  }
}
