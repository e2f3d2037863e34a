import { readFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { documentClient, openTable, type Table } from "../../shared/table/table.ts";
import { engineNote, localTableName } from "../local/engine-note.ts";
import { ensureTable, startEngine } from "../local/engine.ts";
import { readSettings } from "../local/settings.ts";

/** A table to operate on, where it is, and how to let go of it. */
export type Connection = { table: Table; place: string; close: () => Promise<void> };

const usage = () => ({ readUnits: 0, writeUnits: 0, calls: 0 });

/**
 * The deployed table when one is named (credentials and region as the AWS SDK finds them), else the local
 * one: through the running product, or by starting its engine for the moment when it is not running.
 */
export async function connect(tableName: string | undefined): Promise<Connection> {
  if (tableName !== undefined) {
    return {
      table: openTable(documentClient(), tableName, usage()),
      place: `table ${tableName}`,
      close: async () => {},
    };
  }
  const { dataDir } = readSettings(process.env);
  const running = await runningEndpoint(join(dataDir, engineNote));
  const engine = running === undefined ? await startEngine({ dbPath: join(dataDir, "table.db") }) : undefined;
  const endpoint = running ?? engine?.endpoint ?? "";
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
  await ensureTable(endpoint, localTableName);
  return {
    table: openTable(documentClient(), localTableName, usage()),
    place: `local table in ${dataDir}`,
    close: async () => engine?.stop(),
  };
}

const Note = z.object({ endpoint: z.url(), pid: z.int() });

/** The endpoint that the running product wrote down; undefined when there is none or its process is gone. */
async function runningEndpoint(file: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  const note = text === undefined ? undefined : Note.safeParse(JSON.parse(text)).data;
  if (!note) return undefined;
  try {
    process.kill(note.pid, 0);
    return note.endpoint;
  } catch {
    return undefined;
  }
}
