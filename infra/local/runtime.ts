import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import * as z from "zod";

import { clock } from "../../shared/clock.ts";
import { documentClient, openTable, type Table } from "../../shared/table/table.ts";
import type { LambdaSpec } from "../lambdas.ts";
import { checkoutPaths } from "./checkout-page.ts";
import { clockPaths, restoreClock } from "./clock.ts";
import { startLocalDns } from "./dns.ts";
import { leaveEngineNote, localTableName } from "./engine-note.ts";
import { type Engine, ensureTable, foreignEngine, startEngine } from "./engine.ts";
import { eventPaths } from "./events-page.ts";
import { filesKeyOf } from "./files-key.ts";
import { filePaths } from "./files-page.ts";
import { freePort } from "./free-port.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";
import type { Handler } from "./invoke.ts";
import { type TokenIssuer, openIssuer } from "./issuer.ts";
import { readPaymentsSecret } from "./payments-secret.ts";
import { registryPaths } from "./registry-page.ts";
import type { LambdaFunction, LocalPath } from "./respond.ts";
import { readSecretsKey } from "./secrets-key.ts";
import type { Settings } from "./settings.ts";
import { StartProblem, reasonOf } from "./start-problem.ts";
import { tokenPaths } from "./tokens.ts";
import { startWorkers } from "./workers.ts";

/** What runs, given from outside. */
export type Parts<Demo> = {
  lambdas: readonly LambdaSpec[];
  /** Writes what the docs and fallback functions read; answers the folder, their DOCS_DIR. */
  prepareDocs: (dataDir: string) => string | Promise<string>;
  seedDemo: (place: { table: Table; issuer: TokenIssuer; dataDir: string; baseUrl: string }) => Promise<Demo>;
};

export type Runtime<Demo> = {
  baseUrl: string;
  endpoint: string;
  /** Where the zones are asked for; undefined when they are not on this machine. */
  dnsPort: number | undefined;
  demo: Demo;
  /** Lets requests finish, then ends the engine. */
  stop: () => Promise<void>;
  /** Settles, with what it said last, if the engine ends without being asked to. */
  died: Promise<string>;
};

const project = resolve(import.meta.dirname, "../..");

async function prepareDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartProblem(`The data folder ${dataDir} (DATA_DIR) cannot be made: ${reasonOf(error)}`);
  }
}

/** Points the SDK at an engine. Another's keeps the region and credentials one has; ours is nobody's business. */
export function setTableEnvironment({ endpoint, pid }: Pick<Engine, "endpoint" | "pid">): void {
  const { env } = process;
  env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
  env["AWS_REGION"] ??= "us-east-1";
  if (pid === null) {
    env["AWS_ACCESS_KEY_ID"] ??= "local";
    env["AWS_SECRET_ACCESS_KEY"] ??= "local";
    return;
  }
  for (const name of ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]) delete env[name];
  env["AWS_ACCESS_KEY_ID"] = "local";
  env["AWS_SECRET_ACCESS_KEY"] = "local";
}

/** The environment a deployed function has, for the handlers and for the SDK in them. */
async function setEnvironment(
  engine: Engine,
  issuer: TokenIssuer,
  { dataDir, baseUrl }: { dataDir: string; baseUrl: string },
): Promise<void> {
  const { env } = process;
  await restoreClock(dataDir);
  setTableEnvironment(engine);
  env["TABLE_NAME"] = localTableName;
  env["ISSUERS"] = JSON.stringify([issuer.issuerConfig()]);
  env["LOG_LEVEL"] ??= "info";
  env["LOG_FORMAT"] ??= "text";
  env["WEBHOOK_LOOPBACK"] ??= "allow";
  const secretsKey = await readSecretsKey(dataDir);
  if (env["SECRETS_KEY_ID"] === undefined) env["SECRETS_KEY"] ??= secretsKey;
  env["DNS_PROVIDER"] ??= "embedded";
  env["REGISTRAR"] ??= "embedded";
  env["PUBLIC_URL"] ??= baseUrl;
  if (env["PAYMENTS_SECRET_NAME"] === undefined) {
    env["PAYMENTS_WEBHOOK_SECRET"] ??= await readPaymentsSecret(dataDir);
    env["PAYMENTS_LOCAL_URL"] = baseUrl;
  }
  if (env["FILES_BUCKET"] === undefined) {
    Object.assign(env, {
      FILES_DIR: join(dataDir, "files"),
      FILES_KEY: filesKeyOf(secretsKey),
      FILES_BASE_URL: baseUrl,
    });
  }
}

/** The pages of the embedded payments and files, where those are what the product uses. */
function providerPaths(table: Table): LocalPath[] {
  const { PAYMENTS_WEBHOOK_SECRET: webhookSecret, FILES_DIR: folder, FILES_KEY: key } = process.env;
  return [
    ...(webhookSecret === undefined ? [] : checkoutPaths({ table, webhookSecret, now: clock })),
    ...(folder === undefined || key === undefined
      ? []
      : filePaths({ folder, key: Buffer.from(key, "base64"), now: clock })),
  ];
}

type OpenDns = { port: number | undefined; stop: () => Promise<void> };

/** The embedded DNS where it is what the product uses; the resolver asks it alone then. */
async function openDns(options: Parameters<typeof startLocalDns>[0]): Promise<OpenDns> {
  if (process.env["DNS_PROVIDER"] !== "embedded") return { port: undefined, stop: async () => undefined };
  const dns = await startLocalDns(options);
  Object.assign(process.env, dns.environment);
  return dns;
}

/** The page of the embedded registry, where that is what the product uses. */
const registryPage = (table: Table, onDelegated: () => void): LocalPath[] =>
  process.env["REGISTRAR"] === "embedded" ? registryPaths({ table, onDelegated }) : [];

const LambdaModule = z.object({ handler: z.custom<Handler>((value) => typeof value === "function") });

async function loadFunction({ name, file, triggers }: LambdaSpec): Promise<LambdaFunction> {
  const module: unknown = await import(pathToFileURL(resolve(project, file)).href);
  const { success, data } = LambdaModule.safeParse(module);
  if (!success) throw new Error(`${file} does not export a handler`);
  return { name, triggers, handler: data.handler };
}

async function openGateway(options: GatewayOptions): ReturnType<typeof startGateway> {
  try {
    return await startGateway(options);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new StartProblem(`Port ${options.port} is taken. Stop what has it, or choose another: PORT=8081 npm start`);
    }
    if (code === "EACCES") throw new StartProblem(`Port ${options.port} is not for everybody. Set PORT above 1023.`);
    throw error;
  }
}

/**
 * The product on one machine: engine, table, handlers, gateway, demo. It sets the process's environment,
 * as handlers read theirs from there. Throws, with nothing left running; `StartProblem` where the person
 * at the keyboard can help.
 */
export async function startRuntime<Demo>(
  settings: Settings,
  parts: Parts<Demo>,
  hooks: Pick<GatewayOptions, "onServed" | "onError">,
): Promise<Runtime<Demo>> {
  const { dataDir, endpoint, corsOrigins, allowedHosts } = settings;
  await prepareDataDir(dataDir);
  // Known before anything runs: links to this product are made of it.
  const port = settings.port === 0 ? await freePort() : settings.port;
  const baseUrl = `http://127.0.0.1:${port}`;
  const engine =
    endpoint === undefined ? await startEngine({ dbPath: join(dataDir, "table.db") }) : foreignEngine(endpoint);
  const running = [engine.stop];
  const stop = async (): Promise<void> => {
    for (const end of running.toReversed()) await end();
  };
  try {
    const issuer = await openIssuer(join(dataDir, "issuer.json"));
    await setEnvironment(engine, issuer, { dataDir, baseUrl });
    process.env["ALLOWED_ORIGINS"] = corsOrigins.join(",");
    await ensureTable(engine.endpoint, localTableName);
    running.push(await leaveEngineNote(dataDir, { endpoint: engine.endpoint, pid: process.pid }));
    process.env["DOCS_DIR"] = await parts.prepareDocs(dataDir);
    const functions = await Promise.all(parts.lambdas.map(loadFunction));
    let demo: Demo | undefined;
    const table = openTable(documentClient(), localTableName);
    const { onServed, onError = () => {} } = hooks;
    const dns = await openDns({ table, port: settings.dnsPort, onError });
    running.push(dns.stop);
    const workers = await startWorkers({ table, dataDir, onError });
    running.push(workers.stop);
    const clockPath = await clockPaths(dataDir, workers.onClockMoved);
    const gateway = await openGateway({
      port,
      functions,
      localPaths: [...tokenPaths(issuer, () => demo), ...eventPaths(dataDir), ...providerPaths(table), ...registryPage(table, workers.wake), ...clockPath],
      corsOrigins,
      allowedHosts,
      onError,
      onServed: (served) => {
        if (served.method !== "GET") workers.wake();
        onServed?.(served);
      },
    });
    running.push(gateway.stop);
    demo = await parts.seedDemo({ table, issuer, dataDir, baseUrl });
    return { baseUrl, endpoint: engine.endpoint, dnsPort: dns.port, demo, stop, died: engine.died };
  } catch (error) {
    await stop();
    throw error;
  }
}
