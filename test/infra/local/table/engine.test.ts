import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import { expect, onTestFinished, test, vi } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { type Engine, ensureTable, foreignEngine, startEngine } from "../../../../infra/local/table/engine.ts";
import { newFolder } from "../../../support/folder.ts";
import { listen } from "../../../support/listen.ts";

async function start(...options: Parameters<typeof startEngine>): Promise<Engine> {
  const engine = await startEngine(...options);
  onTestFinished(engine.stop);
  return engine;
}

function clientOf({ endpoint }: Engine): DynamoDBClient {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint, region: "local", credentials });
  onTestFinished(() => client.destroy());
  return client;
}

const problemOf = async (attempt: Promise<Engine>): Promise<string> => {
  const error = await attempt.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StartProblem);
  return error instanceof Error ? error.message : "";
};

/** Whether a process is alive. A zombie, whose parent has not read its exit yet, is not alive. */
function isAlive(pid: number | null): boolean {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && !readFileSync(file, "utf8").includes(") Z ");
}

const TableName = "table";
const key = { PK: { S: "a" }, SK: { S: "b" } };

test("the table has the keys and the TTL of infra/cdk/constructs/storage.ts but no stream, and is made once", async () => {
  const engine = await start();
  await Promise.all([ensureTable(engine.endpoint, TableName), ensureTable(engine.endpoint, TableName)]);
  await ensureTable(engine.endpoint, TableName);
  const client = clientOf(engine);
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  expect(Table).toMatchObject({
    KeySchema: [
      { AttributeName: "PK", KeyType: "HASH" },
      { AttributeName: "SK", KeyType: "RANGE" },
    ],
    BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
  });
  expect(Table?.StreamSpecification?.StreamEnabled ?? false).toBe(false);
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  expect(TimeToLiveDescription).toMatchObject({ AttributeName: "ttl" });
});

test("written data are there after a restart", async () => {
  const dbPath = join(newFolder(), "table.db");
  const first = await start({ dbPath });
  await ensureTable(first.endpoint, TableName);
  await clientOf(first).send(new PutItemCommand({ TableName, Item: { ...key, v: { S: "kept" } } }));
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  const second = await start({ dbPath });
  const { Item } = await clientOf(second).send(new GetItemCommand({ TableName, Key: key }));
  expect(Item?.["v"]).toEqual({ S: "kept" });
});

test("engines in memory do not share their tables", async () => {
  const [one, other] = await Promise.all([start(), start()]);
  await ensureTable(one.endpoint, TableName);
  await expect(clientOf(other).send(new DescribeTableCommand({ TableName }))).rejects.toThrow("not found");
});

test("a second engine cannot open the file of a running engine by any path, and its error has the holder's process id", async () => {
  const folder = newFolder();
  const alias = `${folder}-alias`;
  await symlink(folder, alias);
  onTestFinished(() => rm(alias));
  const engine = await start({ dbPath: join(folder, "table.db") });
  for (const dbPath of [join(folder, "table.db"), join(alias, "table.db")]) {
    const problem = await problemOf(startEngine({ dbPath }));
    expect(problem).toContain(`is held by process ${process.pid}`);
    expect(problem).toContain("DATA_DIR");
  }
  await engine.stop();
  await start({ dbPath: join(alias, "table.db") });
});

test("an engine ends if its owner process is killed, and another engine can then open its file", async () => {
  const dbPath = join(newFolder(), "table.db");
  const module = resolve(import.meta.dirname, "../../../../infra/local/table/engine.ts");
  const source = `const { startEngine } = await import(${JSON.stringify(module)});
    const { pid } = await startEngine({ dbPath: ${JSON.stringify(dbPath)} });
    console.log(pid);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(owner.stdout), "line");
  const pid = Number(line);
  expect(isAlive(pid)).toBe(true);
  expect(await problemOf(startEngine({ dbPath }))).toContain(`is held by process ${owner.pid}`);
  owner.kill("SIGKILL");
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
  await start({ dbPath });
});

test("an engine that ends unexpectedly reports its death, and a stopped engine does not", async () => {
  const [killed, stopped] = await Promise.all([start(), start()]);
  process.kill(killed.pid ?? Number.NaN, "SIGKILL");
  await expect(killed.died).resolves.toContain("listening");
  await stopped.stop();
  await expect(Promise.race([stopped.died, Promise.resolve("still waiting")])).resolves.toBe("still waiting");
});

test("an engine is in its own process group, so that Ctrl-C does not reach it", async () => {
  const { pid } = await start();
  const [, , group] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  expect(Number(group)).toBe(pid);
});

test("stop can be called twice", async () => {
  const engine = await start();
  await Promise.all([engine.stop(), engine.stop()]);
  await expect(engine.stop()).resolves.toBeUndefined();
});

test("the error for a taken port has the engine's own words, and the file stays free for another engine", async () => {
  const folder = newFolder();
  const port = await listen(createServer());
  const problem = await problemOf(startEngine({ dbPath: join(folder, "table.db"), port }));
  expect(problem).toContain(`port ${port} is already in use`);
  await start({ dbPath: join(folder, "table.db") });
});

test("the error for a file that is no database names the file, and no other file is left", async () => {
  const folder = newFolder();
  const dbPath = join(folder, "table.db");
  await writeFile(dbPath, "not a database, whatever its name says".repeat(100));
  expect(await problemOf(startEngine({ dbPath }))).toContain(dbPath);
  expect(await readdir(folder)).toEqual(["table.db"]);
});

test("the error for a missing folder, or for a file in place of the folder, names the database file", async () => {
  const folder = newFolder();
  await writeFile(join(folder, "file"), "");
  for (const dbPath of [join(folder, "missing/table.db"), join(folder, "file/table.db")]) {
    expect(await problemOf(startEngine({ dbPath }))).toContain(`${dbPath} cannot be written`);
  }
});

test("a foreign engine is not stopped, and an error names an endpoint that does not answer", async () => {
  const engine = await start();
  const foreign = foreignEngine(engine.endpoint);
  await foreign.stop();
  expect(foreign.pid).toBeNull();
  await ensureTable(foreign.endpoint, TableName);
  await engine.stop();
  await expect(ensureTable(engine.endpoint, TableName)).rejects.toThrow(engine.endpoint);
});
