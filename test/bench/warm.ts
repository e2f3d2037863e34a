import { join } from "node:path";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { newUser } from "../support/world.ts";
import { newEvents, race, startLambda, type Answer } from "./contestant.ts";
import { median, newFolder, quantile, ratioOf, sum, type Figure, type Options, type Result } from "./harness.ts";
import { bundlePeers, works, type Work } from "./peers.ts";

/**
 * The three requests. `atLeast` is the bar for the ratio of our requests a second to those of the fastest peer with the
 * least work (`bare`).
 */
const requests = [
  { title: "GET", route: "get", atLeast: 1 },
  { title: "a page", route: "list", atLeast: 1 },
  { title: "POST", route: "add", atLeast: 0.9 },
] as const;
const does: Record<Work | "ours", string> = {
  ours: "authenticates, authorizes, limits, records, logs",
  verified: "the same table calls and a token check",
  same: "the same table calls",
  bare: "only the calls for the answer",
};

type Contestant = { label: string; work: Work | "ours"; fileOf: (route: string) => string };

/** Measures one GET, one page and one POST through the handler, and through peers, each in a process of its own. */
export async function run({ quick }: Options): Promise<Result> {
  await using folder = await newFolder();
  const routes = requests.map(({ route }) => ({ name: route, file: `functions/workspaces/${route}.ts` }));
  await bundleLambdas(routes, folder.path);
  const contestants: Contestant[] = [
    { label: "this API", work: "ours", fileOf: (route) => join(folder.path, route, "index.js") },
  ];
  for (const work of works) {
    for (const { label, file } of await bundlePeers(work)) contestants.push({ label, work, fileOf: () => file });
  }
  const owner = newUser();
  const result: Required<Result> = { figures: [], tables: {} };
  for (const { title, route, atLeast } of requests) {
    process.stderr.write(`${title}\n`);
    using children = new DisposableStack();
    const events = await newEvents(owner, 100);
    const runners = contestants.map(({ label, work, fileOf }) => {
      const lambda = children.use(startLambda(fileOf(route), [`${label} ${work}`], { BENCH_USER: owner.id }));
      return [`${label}, ${does[work]}`, (times: number) => lambda.ask(events[route], times)] as const;
    });
    const settings = quick ? { rounds: 3, times: 30, warmUp: 30 } : { rounds: 21, times: 150, warmUp: 300 };
    const answers = Object.values(await race(Object.fromEntries(runners), settings));
    const speeds = contestants.map(({ label, work }, index) => speedOf(label, work, answers[index] ?? []));
    result.figures.push(...figuresOf(title, atLeast, speeds));
    result.tables[title] = speeds.map(({ row }) => row);
  }
  return result;
}

function speedOf(label: string, work: Work | "ours", answers: readonly Answer[]) {
  const times = answers.flatMap(({ ms }) => ms);
  const rates = answers.map(({ ms }) => (1000 * ms.length) / sum(ms));
  const cpuMs = answers.map(({ cpuMs, ms }) => cpuMs / ms.length);
  const row = {
    Program: label,
    Does: does[work],
    "Requests a second": median(rates),
    "p50 ms": quantile(times, 0.5),
    "p99 ms": quantile(times, 0.99),
    "CPU ms": median(cpuMs),
  };
  return { label, work, rates, cpuMs, row };
}

type Speed = ReturnType<typeof speedOf>;

function figuresOf(title: string, atLeast: number, [own, ...peers]: readonly Speed[]): Figure[] {
  const express = peers.find(({ label, work }) => label === "Express, bundled" && work === "bare");
  const beside = works.map((work): Figure => {
    // A handler without a framework is in the table, but is no peer.
    const rivals = peers.filter((one) => one.work === work && one.label !== "no framework");
    const [fastest] = rivals.toSorted((a, b) => median(b.rates) - median(a.rates));
    return {
      name: `warm ${title}: ours / fastest peer, ${does[work]} (${fastest?.label})`,
      value: ratioOf(own?.rates, fastest?.rates),
      unit: "× requests a second",
      ...(work === "bare" ? { atLeast } : {}),
    };
  });
  const { "Requests a second": rate = 0, "p50 ms": p50 = 0, "p99 ms": p99 = 0, "CPU ms": cpu = 0 } = own?.row ?? {};
  const cpuRatio = ratioOf(own?.cpuMs, express?.cpuMs);
  return [
    { name: `warm ${title}: requests`, value: rate, unit: "a second" },
    { name: `warm ${title}: p50`, value: p50, unit: "ms" },
    { name: `warm ${title}: p99`, value: p99, unit: "ms" },
    ...beside,
    { name: `warm ${title}: CPU of a request`, value: cpu, unit: "ms" },
    { name: `warm ${title}: CPU, ours / Express, only the calls for the answer`, value: cpuRatio, unit: "×", bar: 1 },
  ];
}
