import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

import { inFolder, median, quantile, type Figure, type Options, type Result } from "./harness.ts";
import { newLoad, newOwners } from "./load-mix.ts";
import { shown, table } from "./page.ts";
import { withProduct, type Product } from "./product.ts";

/** Requests at a time. */
const workers = 8;
const sampleMs = 1_000;
/** Owners of each of the two accounts: so many that none of them reaches a rate limit. */
const ownersEach = 53;
/** The time before memory counts: the engine remembers the token of each transaction for ten minutes, as DynamoDB does. */
const warmUpSeconds = 660;

type Times = { warmUp: number; seconds: number };
/** Seconds since the load began, and the mebibytes that are resident in each process. */
type Sample = { seconds: number; product: number; engine: number };
/** The mebibytes of the product's live objects. */
type Live = { seconds: number; mebibytes: number };

/** `npm start` under mixed load: requests a second, wrong answers, and whether its memory grows. */
export const run = ({ seconds, quick }: Options): Promise<Result> =>
  inFolder(async (dataDir) => {
    const times = quick ? { warmUp: 10, seconds: Math.min(seconds, 30) } : { warmUp: warmUpSeconds, seconds };
    const preload = pathToFileURL(join(import.meta.dirname, "report-heap.mjs")).href;
    const env = {
      LOG_LEVEL: "silent",
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${preload}`,
    };
    const checkout = resolve(import.meta.dirname, "../..");
    return withProduct({ checkout, dataDir, env }, (product) => underLoad(product, dataDir, times));
  });

async function underLoad(product: Product, dataDir: string, times: Times): Promise<Result> {
  const { baseUrl, demo, check } = product;
  const load = newLoad(baseUrl, await newOwners(baseUrl, demo, ownersEach));
  const { pid: server } = JSON.parse(await readFile(join(dataDir, "engine.json"), "utf8")) as { pid: number };
  const engine = engineOf(server);
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const isOver = (): boolean => elapsed() >= times.warmUp + times.seconds;
  const samples: Sample[] = [];
  const live: Live[] = [];
  const measureHeap = async () => {
    const seconds = elapsed();
    live.push({ seconds, mebibytes: await liveHeap(product, server) });
  };
  const observe = async (): Promise<void> => {
    while (!isOver()) {
      check();
      // The collection makes the process smaller for a while: not while its memory counts.
      if (live.length === 0 && elapsed() > times.warmUp / 2) await measureHeap();
      samples.push({ seconds: elapsed(), product: resident(server), engine: resident(engine) });
      if (samples.length % 30 === 0) {
        process.stderr.write(`  ${shown(elapsed(), 0)} s: ${load.times.length} requests\n`);
      }
      await pause(sampleMs);
    }
  };
  const work = async (): Promise<void> => {
    while (!isOver()) await load.next();
  };
  await Promise.all([observe(), ...Array.from({ length: workers }, work)]);
  await measureHeap();
  for (const what of load.unexpected.slice(0, 5)) process.stderr.write(`  unexpected: ${what}\n`);
  return resultOf(times, { load, samples, live });
}

const ps = (...args: string[]): string => execFileSync("ps", args, { encoding: "utf8" });

/** The process of the engine that a product started. */
function engineOf(server: number): number {
  const line = new RegExp(String.raw`^\s*(\d+)\s+${server}\s.* serve `, "m");
  return Number(line.exec(ps("-A", "-o", "pid=,ppid=,args="))?.[1]);
}

/** Resident mebibytes of a process. */
const resident = (pid: number): number => Number(ps("-o", "rss=", "-p", String(pid))) / 1024;

/** The mebibytes of a process's live objects, by report-heap.mjs. */
function liveHeap({ lines }: Product, pid: number): Promise<number> {
  process.kill(pid, "SIGUSR2");
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const [, bytes] = /^live heap: (\d+)$/.exec(line) ?? [];
      if (bytes !== undefined) resolve(Number(bytes) / 2 ** 20);
    });
  });
}

type Run = { load: ReturnType<typeof newLoad>; samples: readonly Sample[]; live: readonly Live[] };

function resultOf(times: Times, { load, samples, live }: Run): Result {
  const warm = samples.filter(({ seconds }) => seconds > times.warmUp);
  const fifth = Math.max(1, Math.floor(warm.length / 5));
  const change = (of: keyof Sample): number =>
    median(warm.slice(-fifth).map((sample) => sample[of])) - median(warm.slice(0, fifth).map((sample) => sample[of]));
  const [firstLive, lastLive] = [live[0], live.at(-1)] as [Live, Live];
  const liveGrowth = (lastLive.mebibytes - firstLive.mebibytes) / (lastLive.seconds - firstLive.seconds);
  const most = (member: "product" | "engine"): number => Math.max(...warm.map((sample) => sample[member]));
  const growth = (whose: string, aSecond: number): Figure => ({
    name: `soak: … growth of ${whose}`,
    value: 60 * aSecond,
    unit: "MiB a minute",
    bar: 1,
  });
  const figures = [
    {
      name: `soak, ${workers} at a time: requests`,
      value: load.times.length / (times.warmUp + times.seconds),
      unit: "a second",
    },
    { name: "soak: p50", value: quantile(load.times, 0.5), unit: "ms" },
    { name: "soak: p99", value: quantile(load.times, 0.99), unit: "ms" },
    { name: "soak: answers other than expected", value: load.unexpected.length, unit: "answers", bar: 0 },
    { name: "soak: memory of the product at most", value: most("product"), unit: "MiB" },
    growth("the product once warm", change("product") / change("seconds")),
    growth("its live objects", liveGrowth),
    { name: "soak: memory of the engine at most", value: most("engine"), unit: "MiB" },
    growth("the engine once warm", change("engine") / change("seconds")),
  ];
  return { figures, chapter: chapterOf(times, load.mix, samples) };
}

function chapterOf({ warmUp, seconds }: Times, mix: Record<string, number>, samples: readonly Sample[]): string {
  const minutes = (of: number): string => shown(of / 60, of < 300 ? 1 : 0);
  const step = Math.ceil(samples.length / 12);
  const rows = samples
    .filter((_, index) => index % step === 0 || index === samples.length - 1)
    .map(({ seconds, product, engine }) => [minutes(seconds), shown(product, 0), shown(engine, 0)]);
  const sent = Object.entries(mix).map(([name, count]) => `${name} ${shown(count, 0)}`);
  return `## Local gateway under load

\`npm start\` with an empty table for ${minutes(seconds)} minutes after ${minutes(warmUp)} of warming up, ${workers} requests at a time over HTTP:
reads, writes that are undone again, programs of code mode and mistakes. The load comes from the same machine. Growth is
from the first fifth of those ${minutes(seconds)} minutes to the last, by their medians. Live objects are what is left of the product's heap
after a full collection, half-way through the warm-up and at the end. The engine grows while it warms up: it remembers
the token of every transaction for ten minutes, as DynamoDB does, some 0.5 kB each.

${table(["Minute", "Product, MiB resident", "Engine, MiB resident"], rows)}

Sent: ${sent.join(", ")}.
`;
}
