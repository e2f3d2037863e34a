import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";

import { StartProblem, reasonOf } from "../command-line.ts";
import { binaryPath, endProcess, spawnWatched, untilListening } from "./engine-process.ts";
import { Locked, freePort, holdLock } from "./lock.ts";

/** A DynamoDB endpoint: the embedded engine, or an external one. */
export type Engine = {
  /** The URL for AWS_ENDPOINT_URL_DYNAMODB. */
  endpoint: string;
  /** The engine's process id. Null for an external engine. */
  pid: number | null;
  /** Ends the engine. Resolves when the engine has written its file and ended. Does nothing to an external engine. */
  stop: () => Promise<void>;
  /** Resolves with the engine's last output if the engine ends unexpectedly. */
  died: Promise<string>;
};

/** The real path of a database file. Throws `StartProblem` if the file cannot be written. */
async function checkedFile(dbPath: string): Promise<string> {
  try {
    const folder = await realpath(dirname(resolve(dbPath)));
    await access(folder, constants.W_OK | constants.X_OK);
    const file = join(folder, basename(dbPath));
    await access(file, constants.R_OK | constants.W_OK).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    return file;
  } catch (error) {
    throw new StartProblem(`The database file ${dbPath} cannot be written to: ${reasonOf(error)}`);
  }
}

/** Locks the folder of a checked database file. Throws `StartProblem` if another process has the lock. */
async function lockFolder(file: string): Promise<() => Promise<void>> {
  try {
    return await holdLock(file);
  } catch (error) {
    if (!(error instanceof Locked)) throw error;
    throw new StartProblem(
      `The data in ${dirname(file)} is ${error.message}.\nStop that process first, or set DATA_DIR to another folder.`,
    );
  }
}

/**
 * Locks the data folder of a database file, whether the file exists or not. Returns a function that ends the lock.
 * Throws `StartProblem` if another process has the lock, or if the file cannot be written.
 */
export const lockData = async (dbPath: string): Promise<() => Promise<void>> => lockFolder(await checkedFile(dbPath));

/**
 * Starts the embedded DynamoDB engine on 127.0.0.1. The engine keeps its data in the SQLite file `dbPath`, or without
 * `dbPath` in memory. Resolves when the engine listens. The engine never outlives this process. Throws `StartProblem`
 * if the engine does not start, or if another process uses the file.
 */
export async function startEngine({ dbPath, port }: { dbPath?: string; port?: number } = {}): Promise<Engine> {
  const binary = binaryPath();
  const file = dbPath === undefined ? undefined : await checkedFile(dbPath);
  const unlock = file === undefined ? async () => {} : await lockFolder(file);
  const chosenPort = port ?? (await freePort());
  const args = ["serve", "--host", "127.0.0.1", "-p", String(chosenPort)];
  const engine = spawnWatched(binary, file === undefined ? args : [...args, "--db-path", file]);
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    await endProcess(engine);
    await unlock();
  };
  const died = new Promise<string>((settle) => {
    void engine.ended.then(() => stopping || settle(engine.output()));
  });
  try {
    await untilListening(engine);
  } catch (error) {
    await stop();
    if (file === undefined) throw error;
    throw new StartProblem(`${reasonOf(error)}\nThe engine's database file is ${file}.`);
  }
  return { endpoint: `http://127.0.0.1:${chosenPort}`, pid: engine.child.pid ?? null, stop, died };
}

/** Wraps an external endpoint in the interface of the embedded engine. */
export const foreignEngine = (endpoint: string): Engine => ({
  endpoint,
  pid: null,
  stop: async () => {},
  died: new Promise(() => {}),
});

/**
 * The client that creates tables. Requests must be signed. The placeholder credentials only work at an endpoint that
 * does not check credentials.
 */
const controlPlane = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient({
    endpoint,
    region: process.env["AWS_REGION"] ?? "us-east-1",
    credentials: {
      accessKeyId: process.env["AWS_ACCESS_KEY_ID"] ?? "local",
      secretAccessKey: process.env["AWS_SECRET_ACCESS_KEY"] ?? "local",
    },
  });

async function isActive(client: DynamoDBClient, TableName: string): Promise<boolean> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  const keys = Table?.KeySchema?.map((key) => key.AttributeName).join(" ");
  if (keys !== "PK SK") throw new StartProblem(`The table ${TableName} has the keys ${keys}. It must have PK and SK.`);
  return Table?.TableStatus === "ACTIVE";
}

async function createTable(client: DynamoDBClient, TableName: string): Promise<void> {
  try {
    await client.send(
      new CreateTableCommand({
        TableName,
        AttributeDefinitions: [
          { AttributeName: "PK", AttributeType: "S" },
          { AttributeName: "SK", AttributeType: "S" },
        ],
        KeySchema: [
          { AttributeName: "PK", KeyType: "HASH" },
          { AttributeName: "SK", KeyType: "RANGE" },
        ],
        BillingMode: "PAY_PER_REQUEST",
      }),
    );
  } catch (error) {
    // Another process may have created the table in the meantime.
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  while (!(await isActive(client, TableName))) await delay(50);
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true };
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
}

/**
 * Creates the table if it is missing. The table has the keys and the TTL that infra/cdk/constructs/storage.ts declares,
 * but no stream. A stream would slow down the engine's writes, so the change feed reads the journals instead. Throws
 * `StartProblem` if the endpoint gives no usable answer, or if the table has other keys.
 */
export async function ensureTable(endpoint: string, tableName: string): Promise<void> {
  const client = controlPlane(endpoint);
  try {
    while (!(await isActive(client, tableName))) await delay(50);
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return await createTable(client, tableName);
    if (error instanceof StartProblem) throw error;
    throw new StartProblem(`The DynamoDB endpoint ${endpoint} gave no usable answer: ${reasonOf(error)}`);
  } finally {
    client.destroy();
  }
}
