import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { TableClient } from "../../shared/table/client.ts";
import { openTable, type Table } from "../../shared/table/table.ts";
import { featureAndPriceVariables } from "../config/features.ts";
import { readStage } from "../config/stages.ts";
import { restoreClock } from "../local/start/clock.ts";
import { setTableEnvironment } from "../local/start/environment.ts";
import { setLocalVat } from "../local/start/local-vat.ts";
import { readSettings } from "../local/start/settings.ts";
import { prepareDataDir } from "../local/table/data-version.ts";
import { ensureTable, foreignEngine, startEngine } from "../local/table/engine.ts";
import { engineAddressFile, localTableName } from "../local/table/lock.ts";
import type { TableLocation } from "./commands.ts";

/** A connection to a table. `description` describes the place of the table. `close` closes the connection. */
export type Connection = TableLocation & { table: Table; description: string; close: () => Promise<void> };

const open = (name: string): Table => openTable(new TableClient(), name);

/** Throws if the table that an option names does not exist. The error names the option and the table. */
export async function requireTable(table: Table, option: string, name: string): Promise<void> {
  try {
    await table.getMany([{ PK: "ACCOUNT#", SK: "NONE" }]);
  } catch (error) {
    if (!(error instanceof Error && error.name === "ResourceNotFoundException")) throw error;
    throw new Error(`${option}: There is no table ${name}`, { cause: error });
  }
}

/**
 * Connects to a table, and gives this process the prices and the VAT of the product that uses the table.
 * - With a name, connects to this table in AWS, or at the endpoint in AWS_ENDPOINT_URL_DYNAMODB. The prices, the VAT
 *   and the missing features come from the file of `stage`. Without a stage, this process does not know them, so the
 *   command must not use them.
 * - Without a name, connects to the local table, at the endpoint in AWS_ENDPOINT_URL_DYNAMODB. Without an endpoint,
 *   connects to the table of the running product. If the product does not run, starts an engine for the command.
 */
export async function connect(tableName: string | undefined, stage: string | undefined): Promise<Connection> {
  if (tableName !== undefined) {
    if (stage !== undefined) await setSalesEnvironment(tableName, stage);
    const description = `table ${tableName}${stage === undefined ? "" : ` of the stage ${stage}`}`;
    const table = open(tableName);
    await requireTable(table, "--table or TABLE_NAME", tableName);
    return { table, open, description, close: async () => {} };
  }
  const { dataDir, endpoint } = readSettings(process.env);
  await restoreClock(dataDir);
  const existing = endpoint ?? (await runningEndpoint(join(dataDir, engineAddressFile)));
  if (existing === undefined && existsSync(dataDir)) await prepareDataDir(dataDir);
  // The pid 0 makes `setTableEnvironment` replace the user's AWS credentials with placeholders, as for an embedded
  // engine. The pid null would keep them, as for an external engine.
  const engine =
    existing === undefined
      ? await startEngine({ dbPath: join(dataDir, "table.db") })
      : { ...foreignEngine(existing), pid: endpoint === undefined ? 0 : null };
  setTableEnvironment(engine);
  setLocalVat();
  await ensureTable(engine.endpoint, localTableName);
  const description = endpoint === undefined ? `local table in ${dataDir}` : `local table at ${endpoint}`;
  return { table: open(localTableName), open, description, dataDir, close: engine.stop };
}

/**
 * Replaces the prices, the VAT and the missing features in the environment by those in the file of a stage. Throws if
 * CloudFormation has named the table for another stage.
 */
async function setSalesEnvironment(tableName: string, stage: string): Promise<void> {
  const [, owner = stage] = /^hosted-mail-(.+)-Table/.exec(tableName) ?? [];
  if (owner !== stage) throw new Error(`${tableName} is the table of the stage ${owner}, not of ${stage}.`);
  const config = await readStage((key) => (key === "stage" ? stage : undefined), {});
  const { FEATURES_OFF = "", PLAN_PRICES = "[]", VAT = "" } = featureAndPriceVariables(config);
  Object.assign(process.env, { FEATURES_OFF, PLAN_PRICES, VAT });
}

const EngineAddress = z.object({ endpoint: z.url(), pid: z.int() });

/**
 * The endpoint that the running product has written to `file`. Undefined if there is no valid file, or if the process
 * that the file names has ended.
 */
async function runningEndpoint(file: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const engine = EngineAddress.parse(JSON.parse(text));
    process.kill(engine.pid, 0);
    return engine.endpoint;
  } catch {
    return undefined;
  }
}
