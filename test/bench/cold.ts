import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { onOwnEngine } from "./engine.ts";
import { readers, recipes } from "./peers.ts";
import { eventsOf, lambdaContext, openScene } from "./scene.ts";
import { median, type Figure, type Measured, type Options } from "./suite.ts";
import { startTlsFront } from "./tls-front.ts";

type Contestant = { label: string; how: string; file: string; bytes: number };

/** The cold starts of one contestant: milliseconds to load its module and then to answer one request, medians. */
type Start = {
  label: string;
  how: string;
  kilobytes: number;
  loadMs: number;
  firstMs: number;
  totalMs: number;
  cpuMs: number;
};

/** `ratios`: ours to each of the others, the median of the rounds. */
export type ColdData = { rounds: number; starts: Start[]; ratios: Record<string, number> };

/** Loads a module and has it answer one request. Arguments: the module; event and context as JSON. */
const probe = `
const [file, event, context] = process.argv.slice(1);
const input = [JSON.parse(event), JSON.parse(context)];
const before = process.cpuUsage();
const startedAt = performance.now();
const { handler } = require(file);
const loadedAt = performance.now();
handler(...input).then(({ statusCode, body }) => {
  const [load, first] = [loadedAt - startedAt, performance.now() - loadedAt];
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / 1000;
  require("node:fs").writeSync(3, JSON.stringify({ statusCode, body, load, first, cpu }));
  process.exit(0);
});
`;

/** Milliseconds: of the clock twice, and of the processor for both together. */
type Sample = { load: number; first: number; cpu: number };
type Answer = Sample & { statusCode: number; body: string };

/** In a process of its own, whose standard output goes where Lambda would take it: out of the way. */
async function startOnce(file: string, event: string, env: NodeJS.ProcessEnv): Promise<Answer> {
  const args = ["-e", probe, file, event, JSON.stringify(lambdaContext)];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit", "pipe"] });
  const [said] = await Promise.all([text(child.stdio[3] as Readable), once(child, "exit")]);
  if (said === "") throw new Error(`${file} does not answer`);
  return JSON.parse(said) as Answer;
}

const ours = "this API";
/** What the issue names: the floor, and Express with the same SDK, each way that people bundle it. */
const floor = "bare SDK";
const bars: Record<string, number> = { [floor]: 1.15, Express: 0.6, "Express, bundled": 0.6 };

/** Cold starts of the read of one workspace, beside the same read written with other frameworks. */
export const coldStarts = (options: Options): Promise<Measured> =>
  onOwnEngine(async () => {
    const folder = await mkdtemp(join(tmpdir(), "hosted-mail-cold-"));
    const front = await startTlsFront(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", folder);
    try {
      return await measure(join(folder, "bundle"), front.env, options.quick ? 5 : 31);
    } finally {
      front.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

async function contestants(folder: string): Promise<Contestant[]> {
  await bundleLambdas([{ name: "read", file: "functions/workspaces/get.ts" }], folder);
  const file = join(folder, "read/index.js");
  const peers = (await readers()).map(({ recipe, ...peer }) => ({ ...peer, how: recipes[recipe] }));
  return [{ label: ours, how: recipes.ours, file, bytes: (await stat(file)).size }, ...peers];
}

async function measure(folder: string, endpoint: Record<string, string>, rounds: number): Promise<Measured> {
  const all = await contestants(folder);
  const scene = openScene();
  const event = JSON.stringify(eventsOf(await scene.newPlace(25), scene.user.token).read);
  const env = { ...process.env, ...scene.env, ...endpoint };
  // Once for the file system's cache, and to see that all answer the same.
  const answers: Answer[] = [];
  for (const { file } of all) answers.push(await startOnce(file, event, env));
  for (const [index, { statusCode, body }] of answers.entries()) {
    if (statusCode === 200 && body === answers[0]?.body) continue;
    throw new Error(`${all[index]?.label} answers ${statusCode} ${body}, not ${answers[0]?.body}`);
  }
  const samples = all.map((): Sample[] => []);
  // Interleaved, so that a slow moment of the machine hits all of them.
  for (let round = 0; round < rounds; round++) {
    for (const [index, { file }] of all.entries()) samples[index]?.push(await startOnce(file, event, env));
  }
  return summary(all, samples);
}

const totalOf = ({ load, first }: Sample): number => load + first;

function summary(all: readonly Contestant[], samples: readonly Sample[][]): Measured {
  const starts = all.map(({ label, how, bytes }, index): Start => {
    const own = samples[index] ?? [];
    return {
      label,
      how,
      kilobytes: Math.round(bytes / 1000),
      loadMs: median(own.map(({ load }) => load)),
      firstMs: median(own.map(({ first }) => first)),
      totalMs: median(own.map(totalOf)),
      cpuMs: median(own.map(({ cpu }) => cpu)),
    };
  });
  const [mine = []] = samples;
  const ratioTo = (others: readonly Sample[]): number =>
    median(mine.map((sample, round) => totalOf(sample) / totalOf(others[round] ?? sample)));
  const ratios = Object.fromEntries(all.slice(1).map(({ label }, index) => [label, ratioTo(samples[index + 1] ?? [])]));
  const figures: Figure[] = [
    ...starts.map(({ label, totalMs }) => ({
      name: `cold, load and first request: ${label}`,
      value: totalMs,
      unit: "ms",
    })),
    ...Object.entries(ratios).map(([label, value]) => {
      const bar = bars[label];
      return { name: `cold, ours / ${label}`, value, unit: "×", ...(bar === undefined ? {} : { bar }) };
    }),
  ];
  const data: ColdData = { rounds: mine.length, starts, ratios };
  return { figures, data };
}
