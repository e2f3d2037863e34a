import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import type { Demo } from "../../infra/local/demo.ts";
import { freePort } from "../../infra/local/free-port.ts";
import { newLoad, newOwners } from "./load-mix.ts";
import { median, quantile, type Figure, type Measured, type Options } from "./suite.ts";

const root = resolve(import.meta.dirname, "../..");
const workers = 8;
const sampleMs = 1_000;
/** Of each of the two accounts, so that nobody reaches a rate limit. */
const ownersEach = 53;

/** Seconds since the load began, mebibytes resident in each process, and requests answered by then. */
type Sample = { seconds: number; product: number; engine: number; requests: number };
export type SoakData = { seconds: number; workers: number; samples: Sample[]; mix: Record<string, number> };

/** `npm start` in a folder of its own under mixed load: how much it carries, whether it errs, and whether its memory grows. */
export async function soak({ seconds, quick }: Options): Promise<Measured> {
  const dataDir = await mkdtemp(join(tmpdir(), "hosted-mail-soak-"));
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), DNS_PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "silent" };
  const product = spawn("npm", ["start", "--silent"], { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  try {
    const baseUrl = `http://127.0.0.1:${port}`;
    const demo = await untilAnswering(product, baseUrl, dataDir);
    const load = newLoad(baseUrl, await newOwners(baseUrl, demo, ownersEach));
    return await underLoad(product, load, quick ? Math.min(seconds, 30) : seconds);
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

async function underLoad(product: ChildProcess, load: Load, seconds: number): Promise<Measured> {
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const samples: Sample[] = [];
  const ends = async (): Promise<void> => {
    while (elapsed() < seconds && product.exitCode === null) {
      samples.push({ seconds: elapsed(), ...residentOf(product.pid ?? 0), requests: load.times.length });
      if (samples.length % 30 === 0) process.stderr.write(`  ${progress(samples.at(-1), load.unexpected.length)}\n`);
      await pause(sampleMs);
    }
  };
  const work = async (): Promise<void> => {
    while (elapsed() < seconds && product.exitCode === null) await load.next();
  };
  await Promise.all([ends(), ...Array.from({ length: workers }, work)]);
  if (product.exitCode !== null) throw new Error(`npm start ended with ${product.exitCode} under load`);
  for (const what of load.unexpected.slice(0, 5)) process.stderr.write(`  unexpected: ${what}\n`);
  const data: SoakData = { seconds, workers, samples, mix: load.mix };
  return { figures: figuresOf(samples, load, seconds), data };
}

const progress = (sample: Sample | undefined, unexpected: number): string =>
  `${sample?.seconds.toFixed(0)} s: ${sample?.requests} requests, ${unexpected} unexpected, ` +
  `product ${sample?.product.toFixed(0)} MiB, engine ${sample?.engine.toFixed(0)} MiB`;

/** The resident memory of the product's process and of its engine's, both below npm's. */
function residentOf(npm: number): { product: number; engine: number } {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,rss=,args="], { encoding: "utf8" });
  const processes = table.split("\n").flatMap((line) => {
    const [, pid, parent, rss, args] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), rss: Number(rss), args: args ?? "" }];
  });
  const below = (pid: number): typeof processes =>
    processes.filter(({ parent }) => parent === pid).flatMap((one) => [one, ...below(one.pid)]);
  const mebibytesOf = (isIt: (args: string) => boolean): number =>
    (below(npm).find(({ args }) => isIt(args))?.rss ?? 0) / 1024;
  return {
    product: mebibytesOf((args) => args.includes("infra/local/main.ts") && !args.startsWith("sh ")),
    engine: mebibytesOf((args) => args.includes(" serve ")),
  };
}

/** Mebibytes a minute from the third fifth to the last, by their medians: what comes before is warming up. */
function growthOf(samples: readonly Sample[], member: "product" | "engine"): number {
  const fifth = Math.floor(samples.length / 5);
  const middle = (of: number, member: keyof Sample): number =>
    median(samples.slice(of * fifth, (of + 1) * fifth).map((sample) => sample[member]));
  return (60 * (middle(4, member) - middle(2, member))) / (middle(4, "seconds") - middle(2, "seconds"));
}

type Load = ReturnType<typeof newLoad>;

function figuresOf(samples: readonly Sample[], { times, unexpected }: Load, seconds: number): Figure[] {
  const most = (member: "product" | "engine"): number => Math.max(...samples.map((sample) => sample[member]));
  return [
    { name: `soak, ${workers} at a time: requests`, value: times.length / seconds, unit: "a second" },
    { name: "soak: p50", value: quantile(times, 0.5), unit: "ms" },
    { name: "soak: p99", value: quantile(times, 0.99), unit: "ms" },
    { name: "soak: answers other than expected", value: unexpected.length, unit: "answers", bar: 0 },
    { name: "soak: memory of the product at most", value: most("product"), unit: "MiB" },
    {
      name: "soak: … growth of the product once warm",
      value: growthOf(samples, "product"),
      unit: "MiB a minute",
      bar: 1,
    },
    { name: "soak: memory of the engine at most", value: most("engine"), unit: "MiB" },
    {
      name: "soak: … growth of the engine once warm",
      value: growthOf(samples, "engine"),
      unit: "MiB a minute",
      bar: 1,
    },
  ];
}
