import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { onOwnEngine } from "./engine.ts";
import { servers, works, type Work } from "./peers.ts";
import { eventsOf, openScene, type Place, type Scene } from "./scene.ts";
import { mean, median, quantile, type Figure, type Measured, type Options } from "./suite.ts";
import type { Order } from "./warm-child.ts";

const operations = ["read", "list", "add"] as const;
export type Operation = (typeof operations)[number];

/** How one contestant does one operation when it is warm, one request at a time. */
type Speed = { label: string; work: Work | "ours"; perSecond: number; p50Ms: number; p99Ms: number };

/** `ratios`: our requests a second to those of the fastest peer, the median of the rounds. */
type Race = { operation: Operation; speeds: Speed[]; ratios: Record<Work, { fastest: string; ratio: number }> };
export type WarmData = { rounds: number; perRound: number; races: Race[] };

type Runner = {
  label: string;
  work: Work | "ours";
  events: Record<Operation, string>;
  start: (of: Operation) => ChildProcess;
};
type Sample = { runner: Runner; rounds: number[][] };

/** Requests of one GET, one page and one POST through the handler, beside peers, each in a process of its own. */
export const warmRequests = (options: Options): Promise<Measured> =>
  onOwnEngine(async () => {
    const folder = await mkdtemp(join(tmpdir(), "hosted-mail-warm-"));
    try {
      const runners = await prepare(folder);
      const [rounds, perRound] = options.quick ? [5, 50] : [21, 150];
      const races: Race[] = [];
      for (const operation of operations) races.push(await race(operation, runners, rounds, perRound));
      const data: WarmData = { rounds, perRound, races };
      return { figures: races.flatMap(figuresOf), data };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

async function prepare(folder: string): Promise<Runner[]> {
  const files = { read: "get", list: "list", add: "add" } as const;
  await bundleLambdas(
    operations.map((name) => ({ name, file: `functions/workspaces/${files[name]}.ts` })),
    folder,
  );
  const scene = openScene();
  const shared = await scene.newPlace(100);
  const runner = (label: string, work: Runner["work"], fileOf: (of: Operation) => string) =>
    newRunner(scene, shared, { label, work, fileOf });
  const runners = [await runner("this API", "ours", (operation) => join(folder, operation, "index.js"))];
  for (const work of works) {
    for (const { label, file } of await servers(work)) runners.push(await runner(label, work, () => file));
  }
  return runners;
}

type Contestant = Pick<Runner, "label" | "work"> & { fileOf: (of: Operation) => string };

/** All read the same account; each adds to one of its own, which begins like all others. */
async function newRunner(scene: Scene, shared: Place, { label, work, fileOf }: Contestant): Promise<Runner> {
  const { token } = scene.user;
  const { add } = eventsOf(await scene.newPlace(10), token);
  const env = { ...process.env, ...scene.env };
  return {
    label,
    work,
    events: {
      read: JSON.stringify(eventsOf(shared, token).read),
      list: JSON.stringify(eventsOf(shared, token).list),
      add: JSON.stringify(add),
    },
    start: (operation) =>
      fork(join(import.meta.dirname, "warm-child.ts"), [fileOf(operation), `${label} ${work}`], {
        env,
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      }),
  };
}

async function order(child: ChildProcess, what: Order): Promise<{ ms: number[]; body: string }> {
  child.send(what);
  const [answer] = (await once(child, "message")) as [{ ms: number[]; body: string; failure?: string }];
  if (answer.failure !== undefined) throw new Error(answer.failure);
  return answer;
}

async function race(operation: Operation, runners: readonly Runner[], rounds: number, times: number): Promise<Race> {
  const children = runners.map((runner) => runner.start(operation));
  const samples = runners.map((runner): Sample => ({ runner, rounds: [] }));
  try {
    const bodies: string[] = [];
    for (const [index, child] of children.entries()) {
      const event = runners[index]?.events[operation] ?? "";
      bodies.push((await order(child, { event, times: Math.max(300, times) })).body);
    }
    const odd = bodies.findIndex((body) => operation !== "add" && !isSame(body, bodies[0] ?? ""));
    if (odd >= 0) throw new Error(`${runners[odd]?.label} answers ${bodies[odd]}, not ${bodies[0]}`);
    for (let round = 0; round < rounds; round++) {
      for (const [index, { runner, rounds }] of samples.entries()) {
        const child = children[index];
        if (child) rounds.push((await order(child, { event: runner.events[operation], times })).ms);
      }
    }
  } finally {
    for (const child of children) child.kill();
  }
  return result(operation, samples);
}

/** The same JSON, whatever the order of its members. */
function isSame(one: string, other: string): boolean {
  const sorted = (text: string): string =>
    JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    );
  return sorted(one) === sorted(other);
}

const perSecond = (ms: readonly number[]): number => 1000 / mean(ms);

function result(operation: Operation, samples: readonly Sample[]): Race {
  const speeds = samples.map(({ runner: { label, work }, rounds }): Speed => {
    const all = rounds.flat();
    const [p50Ms, p99Ms] = [quantile(all, 0.5), quantile(all, 0.99)];
    return { label, work, perSecond: median(rounds.map(perSecond)), p50Ms, p99Ms };
  });
  const [mine] = samples;
  const beside = (work: Work): { fastest: string; ratio: number } => {
    const others = samples.filter(({ runner }) => runner.work === work && runner.label !== floor);
    const rate = ({ rounds }: Sample): number => median(rounds.map(perSecond));
    const fastest = others.toSorted((a, b) => rate(b) - rate(a))[0];
    const ratio = median(
      (mine?.rounds ?? []).map((ms, round) => perSecond(ms) / perSecond(fastest?.rounds[round] ?? ms)),
    );
    return { fastest: fastest?.runner.label ?? "", ratio };
  };
  return { operation, speeds, ratios: { verified: beside("verified"), same: beside("same"), bare: beside("bare") } };
}

/** What costs a framework nothing: shown, and no peer. */
export const floor = "no framework";

export const titles: Record<Operation, string> = { read: "GET", list: "a page", add: "POST" };

function figuresOf({ operation, speeds, ratios }: Race): Figure[] {
  const title = `warm ${titles[operation]}`;
  const [own] = speeds;
  const beside = (work: Work, what: string): Figure => ({
    name: `${title}: ours / fastest peer, ${what} (${ratios[work].fastest})`,
    value: ratios[work].ratio,
    unit: "× requests a second",
    ...(work === "same" ? { atLeast: 1 } : {}),
  });
  return [
    { name: `${title}: requests`, value: own?.perSecond ?? Number.NaN, unit: "a second" },
    { name: `${title}: p50`, value: own?.p50Ms ?? Number.NaN, unit: "ms" },
    { name: `${title}: p99`, value: own?.p99Ms ?? Number.NaN, unit: "ms" },
    beside("verified", "same calls of the table and a verified token"),
    beside("same", "same calls of the table"),
    beside("bare", "only the calls that answer"),
  ];
}
