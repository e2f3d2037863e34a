import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import type { Demo } from "../../infra/local/seed/demo.ts";
import { freePort } from "../../infra/local/table/lock.ts";
import { liveHeapOf } from "./live-heap.ts";
import { newLoad, newOwners } from "./load-mix.ts";
import { median, quantile, type Figure, type Measured, type Options } from "./suite.ts";

const root = resolve(import.meta.dirname, "../..");
const workers = 8;
const sampleMs = 1_000;
/** Of each of the two accounts, so that nobody reaches a rate limit. */
const ownersEach = 53;
/** Before it counts: the engine remembers the token of each transaction for ten minutes, as DynamoDB does. */
const warmUpSeconds = 660;

/** Seconds since the load began, mebibytes resident in each process, and requests answered by then. */
type Sample = { seconds: number; product: number; engine: number; requests: number };
/** The product's live objects: its heap after everything that can be collected is. */
type Live = { seconds: number; mebibytes: number };
export type SoakData = {
  seconds: number;
  warmUp: number;
  workers: number;
  samples: Sample[];
  live: Live[];
  mix: Record<string, number>;
};

/** `npm start` in a folder of its own under mixed load: how much it carries, whether it errs, and whether its memory grows. */
export async function soak({ seconds, quick }: Options): Promise<Measured> {
  const dataDir = await mkdtemp(join(tmpdir(), "hosted-mail-soak-"));
  const port = await freePort();
  const inspectorPort = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    DNS_PORT: "0",
    DATA_DIR: dataDir,
    LOG_LEVEL: "silent",
    NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --inspect-port=127.0.0.1:${inspectorPort}`,
  };
  const product = spawn("npm", ["start", "--silent"], { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] });
  createInterface(product.stderr).on("line", (line) => {
    if (!/^(?:Debugger|Starting inspector|For help, see)/.test(line)) process.stderr.write(`${line}\n`);
  });
  try {
    const baseUrl = `http://127.0.0.1:${port}`;
    const demo = await untilAnswering(product, baseUrl, dataDir);
    const load = newLoad(baseUrl, await newOwners(baseUrl, demo, ownersEach));
    const times = quick ? { warmUp: 10, seconds: Math.min(seconds, 30) } : { warmUp: warmUpSeconds, seconds };
    return await underLoad(product, load, times, inspectorPort);
  } finally {
    if (product.exitCode === null) {
      product.kill("SIGTERM");
      await once(product, "exit");
    }
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function untilAnswering(product: ChildProcess, baseUrl: string, dataDir: string): Promise<Demo> {
  for (;;) {
    if (product.exitCode !== null) throw new Error(`npm start ended with ${product.exitCode}`);
    const answer = await fetch(`${baseUrl}/docs`).catch(() => undefined);
    await answer?.arrayBuffer();
    const demo = await readFile(join(dataDir, "demo.json"), "utf8").catch(() => undefined);
    if (answer?.ok && demo !== undefined) return JSON.parse(demo) as Demo;
    await pause(100);
  }
}

type Times = { warmUp: number; seconds: number };

async function underLoad(
  product: ChildProcess,
  load: Load,
  { warmUp, seconds }: Times,
  inspectorPort: number,
): Promise<Measured> {
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const isOver = (): boolean => elapsed() >= warmUp + seconds || product.exitCode !== null;
  const samples: Sample[] = [];
  const { server } = processesBelow(product.pid ?? 0);
  if (!server) throw new Error("npm start has no process of the product");
  const live: Live[] = [];
  const lookAtHeap = async (): Promise<void> => {
    const mebibytes = await liveHeapOf(server.pid, inspectorPort);
    live.push({ seconds: elapsed(), mebibytes });
  };
  const observe = async (): Promise<void> => {
    while (!isOver()) {
      const sample = { seconds: elapsed(), ...residentBelow(product.pid ?? 0), requests: load.times.length };
      // Its collection makes the process smaller for a while: not while that counts.
      if (live.length === 0 && sample.seconds > warmUp / 2) await lookAtHeap();
      samples.push(sample);
      if (samples.length % 30 === 0) process.stderr.write(`  ${progress(sample, load.unexpected.length)}\n`);
      await pause(sampleMs);
    }
  };
  const work = async (): Promise<void> => {
    while (!isOver()) await load.next();
  };
  await Promise.all([observe(), ...Array.from({ length: workers }, work)]);
  if (product.exitCode !== null) throw new Error(`npm start ended with ${product.exitCode} under load`);
  await lookAtHeap();
  for (const what of load.unexpected.slice(0, 5)) process.stderr.write(`  unexpected: ${what}\n`);
  const data: SoakData = { seconds, warmUp, workers, samples, live, mix: load.mix };
  return { figures: figuresOf(data, load), data };
}

const progress = ({ seconds, requests, product, engine }: Sample, unexpected: number): string =>
  `${seconds.toFixed(0)} s: ${requests} requests, ${unexpected} unexpected, ` +
  `product ${product.toFixed(0)} MiB, engine ${engine.toFixed(0)} MiB`;

type Process = { pid: number; parent: number; rss: number; args: string };

/** The product's process and its engine's, both below npm's. */
function processesBelow(npm: number): { server: Process | undefined; engine: Process | undefined } {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,rss=,args="], { encoding: "utf8" });
  const processes = table.split("\n").flatMap((line): Process[] => {
    const [, pid, parent, rss, args] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), rss: Number(rss), args: args ?? "" }];
  });
  const below = (pid: number): Process[] =>
    processes.filter(({ parent }) => parent === pid).flatMap((one) => [one, ...below(one.pid)]);
  const all = below(npm);
  return {
    server: all.find(({ args }) => args.includes("infra/local/main.ts") && !args.startsWith("sh ")),
    engine: all.find(({ args }) => args.includes(" serve ")),
  };
}

/** The resident memory of both. */
function residentBelow(npm: number): { product: number; engine: number } {
  const { server, engine } = processesBelow(npm);
  return { product: (server?.rss ?? 0) / 1024, engine: (engine?.rss ?? 0) / 1024 };
}

/** Mebibytes a minute from the first fifth to the last, by their medians. */
function growthOf(samples: readonly Sample[], member: "product" | "engine"): number {
  const fifth = Math.max(1, Math.floor(samples.length / 5));
  const change = (of: keyof Sample): number =>
    median(samples.slice(-fifth).map((sample) => sample[of])) -
    median(samples.slice(0, fifth).map((sample) => sample[of]));
  return (60 * change(member)) / change("seconds");
}

/** Mebibytes a minute from the first look at the heap to the last. */
function liveGrowthOf(live: readonly Live[]): number {
  const [first, last] = [live[0], live.at(-1)];
  if (!first || !last) return Number.NaN;
  return (60 * (last.mebibytes - first.mebibytes)) / (last.seconds - first.seconds);
}

type Load = ReturnType<typeof newLoad>;

function figuresOf(data: SoakData, { times, unexpected }: Load): Figure[] {
  const seconds = data.warmUp + data.seconds;
  const samples = data.samples.filter((sample) => sample.seconds > data.warmUp);
  const most = (member: "product" | "engine"): number => Math.max(...samples.map((sample) => sample[member]));
  const growth = (whose: string, value: number): Figure => ({
    name: `soak: … growth of ${whose}`,
    value,
    unit: "MiB a minute",
    bar: 1,
  });
  return [
    { name: `soak, ${workers} at a time: requests`, value: times.length / seconds, unit: "a second" },
    { name: "soak: p50", value: quantile(times, 0.5), unit: "ms" },
    { name: "soak: p99", value: quantile(times, 0.99), unit: "ms" },
    { name: "soak: answers other than expected", value: unexpected.length, unit: "answers", bar: 0 },
    { name: "soak: memory of the product at most", value: most("product"), unit: "MiB" },
    growth("the product once warm", growthOf(samples, "product")),
    growth("its live objects", liveGrowthOf(data.live)),
    { name: "soak: memory of the engine at most", value: most("engine"), unit: "MiB" },
    growth("the engine once warm", growthOf(samples, "engine")),
  ];
}
