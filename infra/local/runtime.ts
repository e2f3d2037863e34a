import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import * as z from "zod";

import { TableClient } from "../../shared/table/client.ts";
import { openTable, type Table } from "../../shared/table/table.ts";
import { type LambdaSpec, web } from "../entry-points.ts";
import { StartProblem, startCommand } from "./command-line.ts";
import { openDns } from "./dns/dns.ts";
import { startWorkers, type Workers } from "./events/workers.ts";
import { eventPaths } from "./pages/events.ts";
import { providerPaths } from "./pages/index.ts";
import { signInPaths } from "./pages/sign-in.ts";
import { type GatewayOptions, type ServedRequest, startGateway } from "./server/gateway.ts";
import type { Handler } from "./server/invoke.ts";
import type { LambdaFunction } from "./server/respond.ts";
import { clockPaths } from "./start/clock.ts";
import { setEnvironment } from "./start/environment.ts";
import { type TokenIssuer, openIssuer, tokenPaths } from "./start/issuer.ts";
import { freePortAbove, holderOf } from "./start/port-holder.ts";
import type { Settings } from "./start/settings.ts";
import { prepareDataDir } from "./table/data-version.ts";
import { type DynamoDbLocalOptions, startDynamoDbLocal } from "./table/dynamodb-local.ts";
import { NoEngine } from "./table/engine-process.ts";
import { type Engine, ensureTable, foreignEngine, lockData, startEngine } from "./table/engine.ts";
import { freePort, writeEngineAddress, localTableName } from "./table/lock.ts";

/** The product's functions, and the functions that prepare the docs and the demo. */
export type Parts<Demo> = {
  lambdas: readonly LambdaSpec[];
  /** Writes the files of the functions `docs` and `fallback`. Returns the folder of these files, for DOCS_DIR. */
  prepareDocs: (dataDir: string) => string | Promise<string>;
  seedDemo: (options: { table: Table; issuer: TokenIssuer; dataDir: string; baseUrl: string }) => Promise<Demo>;
};

export type Runtime<Demo> = {
  baseUrl: string;
  endpoint: string;
  /** The port of the local DNS server for the zones. Undefined if there is no local DNS. */
  dnsPort: number | undefined;
  /** The port of the server for the websites and mail settings of domains. */
  webPort: number;
  demo: Demo;
  /** Waits for running requests, then stops the engine. */
  stop: () => Promise<void>;
  /** Resolves with the engine's last output if the engine ends unexpectedly. */
  died: Promise<string>;
};

const project = resolve(import.meta.dirname, "../..");

const LambdaModule = z.object({ handler: z.custom<Handler>((value) => typeof value === "function") });

async function loadFunction({ name, file, triggers }: LambdaSpec): Promise<LambdaFunction> {
  const module: unknown = await import(pathToFileURL(resolve(project, file)).href);
  const { success, data } = LambdaModule.safeParse(module);
  if (!success) throw new Error(`${file} does not export a handler`);
  return { name, triggers, handler: data.handler };
}

/**
 * Starts the server for the websites and mail settings of domains. If the server cannot start on `port`, uses a free
 * port. Health checks ask this server for MTA-STS policies.
 */
async function openWeb(port: number, onError: GatewayOptions["onError"]): ReturnType<typeof startGateway> {
  const options = {
    functions: [await loadFunction(web)],
    allowedHosts: "any",
    ...(onError ? { onError } : {}),
  } as const;
  const gateway = await startGateway({ ...options, port }).catch(() => startGateway({ ...options, port: 0 }));
  process.env["MTA_STS_SERVER"] ??= `127.0.0.1:${gateway.port}`;
  return gateway;
}

async function openGateway(options: GatewayOptions, dataDir: string): ReturnType<typeof startGateway> {
  try {
    return await startGateway(options);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw await portTaken(options.port, dataDir);
    }
    if (code === "EACCES") throw new StartProblem(`Port ${options.port} needs special rights. Set PORT above 1023.`);
    throw error;
  }
}

async function portTaken(port: number, dataDir: string): Promise<StartProblem> {
  const [holder, other] = await Promise.all([holderOf(port), freePortAbove(port)]);
  const state = holder === undefined ? "taken. Stop the program that has it" : `taken by ${holder}. Stop that program`;
  return new StartProblem(`Port ${port} is ${state}, or choose another port: PORT=${other} ${startCommand(dataDir)}`);
}

/** The paths under `/_local` for tokens and sign-in. */
const issuerPaths = (issuer: TokenIssuer, demo: () => unknown) => [
  ...tokenPaths(issuer, demo),
  ...signInPaths(issuer, demo),
];

async function otherLocalPaths(table: Table, dataDir: string, { wake, onClockMoved }: Workers) {
  return [...eventPaths(dataDir), ...providerPaths(table, wake), ...(await clockPaths(dataDir, onClockMoved))];
}

/** Wakes the workers after each request that may have changed something. */
const wakeAfterChange =
  (workers: Workers, onServed: GatewayOptions["onServed"]) =>
  (served: ServedRequest): void => {
    if (served.method !== "GET" && served.method !== "HEAD") workers.wake();
    onServed?.(served);
  };

type StartHooks = Pick<GatewayOptions, "onServed" | "onError"> & Pick<DynamoDbLocalOptions, "confirm" | "say">;

/**
 * Opens the DynamoDB endpoint in the settings. Without an endpoint, starts the embedded engine. If there is no embedded
 * engine for this machine, offers DynamoDB Local. Locks the data folder until the engine is stopped.
 */
async function openEngine({ endpoint, dataDir }: Settings, hooks: StartHooks): Promise<Engine> {
  const dbPath = join(dataDir, "table.db");
  try {
    return endpoint === undefined
      ? await startEngine({ dbPath })
      : await openLocked(dbPath, () => foreignEngine(endpoint));
  } catch (error) {
    if (!(error instanceof NoEngine)) throw error;
    return openLocked(dbPath, () => startDynamoDbLocal({ reason: error.message, dataDir, ...hooks }));
  }
}

/**
 * Locks the data folder, and opens an engine that does not lock the data folder itself. The lock ends when the engine
 * is stopped.
 */
async function openLocked(dbPath: string, open: () => Engine | Promise<Engine>): Promise<Engine> {
  const unlock = await lockData(dbPath);
  try {
    const engine = await open();
    const stop = async (): Promise<void> => {
      await engine.stop();
      await unlock();
    };
    return { ...engine, stop };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/**
 * Starts the product on one machine: engine, table, handlers, gateway and demo. Sets environment variables of this
 * process, because the handlers read their settings there. On an error, stops everything and throws the error. The
 * user can fix an error that is a `StartProblem`.
 */
export async function startRuntime<Demo>(
  settings: Settings,
  parts: Parts<Demo>,
  hooks: StartHooks,
): Promise<Runtime<Demo>> {
  const { dataDir } = settings;
  await prepareDataDir(dataDir);
  // The port is chosen first, because links to this product contain the port.
  const port = settings.port === 0 ? await freePort() : settings.port;
  const baseUrl = `http://127.0.0.1:${port}`;
  const engine = await openEngine(settings, hooks);
  const running = [engine.stop];
  let stopped: Promise<void> | undefined;
  const stopAll = async (): Promise<void> => {
    for (const end of running.toReversed()) await end();
  };
  // `stop` can be called twice: a signal can come while the product already stops because its engine has died.
  const stop = (): Promise<void> => (stopped ??= stopAll());
  try {
    const issuer = await openIssuer(join(dataDir, "issuer.json"));
    await setEnvironment(engine, issuer, { dataDir, baseUrl });
    process.env["ALLOWED_ORIGINS"] = settings.corsOrigins.join(",");
    await ensureTable(engine.endpoint, localTableName);
    running.push(await writeEngineAddress(dataDir, { endpoint: engine.endpoint, pid: process.pid }));
    process.env["DOCS_DIR"] = await parts.prepareDocs(dataDir);
    const functions = await Promise.all(parts.lambdas.map(loadFunction));
    let demo: Demo | undefined;
    const table = openTable(new TableClient(), localTableName);
    const { onServed, onError = () => {} } = hooks;
    const dns = await openDns({ table, port: settings.dnsPort, onError });
    running.push(dns.stop);
    const workers = await startWorkers({ table, dataDir, onError });
    running.push(workers.stop);
    const localPaths = [...issuerPaths(issuer, () => demo), ...(await otherLocalPaths(table, dataDir, workers))];
    const served = wakeAfterChange(workers, onServed);
    const { corsOrigins, allowedHosts } = settings;
    const options = { port, functions, localPaths, corsOrigins, allowedHosts, onError, onServed: served };
    const gateway = await openGateway(options, dataDir);
    running.push(gateway.stop);
    const { port: webPort, stop: stopWeb } = await openWeb(settings.webPort, onError);
    running.push(stopWeb);
    demo = await parts.seedDemo({ table, issuer, dataDir, baseUrl });
    return { baseUrl, endpoint: engine.endpoint, dnsPort: dns.port, webPort, demo, stop, died: engine.died };
  } catch (error) {
    await stop();
    throw error;
  }
}
