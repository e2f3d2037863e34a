import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

import { documentClient, openTable } from "../../shared/table/table.ts";
import { compare, type Comparison } from "./compare.ts";
import { beginRestore, remove, restorePoint, untilActive } from "./scratch-table.ts";

export type Rehearsal = {
  table: string;
  /** How many accounts to compare. */
  sample: number;
  /** The moment to restore to; the latest there is if not said. */
  at?: Date | undefined;
  /** Leaves the restored table. */
  keep: boolean;
  pollMs: number;
  signal: AbortSignal;
  say: (line: string) => void;
  now: () => Date;
};

export type Rehearsed = Comparison & { at: Date; scratch: string; seconds: number };

/** `hosted-mail-…-rehearsal-20261122T093000Z`: nobody else's table. */
const scratchName = (table: string, now: Date): string =>
  `${table.slice(0, 220)}-rehearsal-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;

/**
 * Restores a table to a new one beside it, compares the two, and deletes the new one, whatever came of it. Says each
 * step. The source is only read. Rejects when it cannot be restored, and when it is aborted.
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
      const documents = documentClient();
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
  if (keep) say(`${scratch} stays, and costs what it stores, until you run: ${command}`);
  else if (await remove(client, scratch)) say(`Deleted ${scratch}.`);
  else say(`${scratch} cannot be deleted while it is being restored. Once it is ACTIVE run: ${command}`);
}
