import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

import { onTestFinished } from "vitest";

const main = resolve(import.meta.dirname, "../../../infra/local/main.ts");

/** The product as `npm start` starts it, without this run's own environment. */
function spawnMain(
  env: Record<string, string>,
  args: readonly string[],
): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env["PATH"], PORT: "0", NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return child;
}

/** A running product. `printed` is its output up to the banner. */
export type Product = {
  child: ChildProcess;
  printed: string;
  baseUrl: string;
  token: string;
  exit: () => Promise<number | null>;
};

/** Starts the product for one test. Resolves once the product has printed its banner. */
export async function startMain(env: Record<string, string>, ...args: string[]): Promise<Product> {
  const child = spawnMain(env, args);
  // Comes before the wait, so that a test that runs out of time leaves no product behind.
  onTestFinished(() => void child.kill("SIGKILL"));
  return untilStarted(child);
}

/** Starts the product for several tests, which must end it. Resolves once the product has printed its banner. */
export const startShared = (env: Record<string, string>, ...args: string[]): Promise<Product> =>
  untilStarted(spawnMain(env, args));

async function untilStarted(child: ReturnType<typeof spawnMain>): Promise<Product> {
  const exited = once(child, "exit");
  const errors = text(child.stderr);
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  while (!printed.includes("Ctrl-C")) {
    const ended = await Promise.race([once(child.stdout, "data").then(() => false), exited.then(() => true)]);
    if (ended) throw new Error(await errors);
  }
  const [, baseUrl = ""] = /runs at (\S+)/.exec(printed) ?? [];
  const [, demoFile = ""] = /require\(`([^`]+)`\)/.exec(printed) ?? [];
  const { token } = JSON.parse(await readFile(demoFile, "utf8")).accounts[0].owner;
  const exit = async (): Promise<number | null> => {
    await exited;
    return child.exitCode;
  };
  return { child, printed, baseUrl, token, exit };
}

/** Starts a product that fails. Returns its exit code, and its standard error as `said`. */
export async function failMain(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number | null; said: string }> {
  const child = spawnMain(env, args);
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = await text(child.stderr);
  if (child.exitCode === null) await once(child, "exit");
  return { code: child.exitCode, said };
}

export const get = (url: string, token?: string): Promise<Response> =>
  fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
