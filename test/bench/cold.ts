import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { certificateFor } from "../shared/webhooks/certificate.ts";
import { newUser } from "../support/world.ts";
import { askOnce, newEvents, startLambda, type Answer } from "./contestant.ts";
import { inFolder, inTurns, median, ratioOf, type Options, type Result } from "./harness.ts";
import { blocks, shown, table } from "./page.ts";
import { readers, recipes } from "./peers.ts";

/** The bars: the floor, and Express with the same SDK, bundled and not. */
const bars: Record<string, number> = { "bare SDK": 1.15, Express: 0.6, "Express, bundled": 0.6 };

/** Cold starts of the read of one workspace, beside the same read with other frameworks. */
export const run = ({ quick }: Options): Promise<Result> =>
  inFolder(async (folder) => {
    const front = await startTlsFront(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", folder);
    try {
      return await compare(join(folder, "bundle"), front.env, quick ? 5 : 31);
    } finally {
      front.stop();
    }
  });

/**
 * Puts TLS in front of the engine, as DynamoDB has it: over plain HTTP the SDK's first call loads modules that it never
 * needs on Lambda. Returns the environment of a process that uses and trusts it.
 */
async function startTlsFront(endpoint: string, folder: string) {
  const { key, cert } = certificateFor("localhost");
  const file = join(folder, "front.pem");
  await writeFile(file, cert);
  const { hostname, port } = new URL(endpoint);
  const server = createServer({ key, cert, noDelay: true }, (socket) => {
    const engine = connect({ port: Number(port), host: hostname, noDelay: true });
    socket.on("error", () => engine.destroy());
    engine.on("error", () => socket.destroy());
    socket.pipe(engine).pipe(socket);
  });
  await once(server.listen(0, "localhost"), "listening");
  const own = (server.address() as AddressInfo).port;
  return {
    env: { AWS_ENDPOINT_URL_DYNAMODB: `https://localhost:${own}`, NODE_EXTRA_CA_CERTS: file },
    stop: () => server.close(),
  };
}

async function compare(folder: string, env: Record<string, string>, rounds: number): Promise<Result> {
  await bundleLambdas([{ name: "read", file: "functions/workspaces/get.ts" }], folder);
  const file = join(folder, "read/index.js");
  const { size: bytes } = await stat(file);
  const all = [{ label: "this API", recipe: "ours" as const, file, bytes }, ...(await readers())];
  const { read } = await newEvents(newUser(), 25);
  const starts = all.map(
    ({ file }) =>
      () =>
        askOnce(startLambda(file, [], env), read, 1),
  );
  // A first round fills the file system's cache, and shows that all answer the same.
  const bodies = (await inTurns(1, starts)).map(([answer]) => answer?.body);
  const odd = bodies.findIndex((body) => body !== bodies[0]);
  if (odd >= 0) throw new Error(`${all[odd]?.label} answers ${bodies[odd]}, not ${bodies[0]}`);
  const samples = await inTurns(rounds, starts);
  const of = (index: number, member: (answer: Answer) => number): number[] => (samples[index] ?? []).map(member);
  const both = ({ loadMs, ms: [firstMs = Number.NaN] }: Answer): number => loadMs + firstMs;
  const results = all.map(({ label, recipe, bytes }, index) => ({
    label,
    how: recipes[recipe],
    kilobytes: Math.round(bytes / 1000),
    loadMs: median(of(index, ({ loadMs }) => loadMs)),
    firstMs: median(of(index, ({ ms: [firstMs = Number.NaN] }) => firstMs)),
    bothMs: median(of(index, both)),
    cpuMs: median(of(index, ({ cpuMs }) => cpuMs)),
    ratio: ratioOf(of(0, both), of(index, both)),
  }));
  const figures = [
    ...results.map(({ label, bothMs }) => ({
      name: `cold, load and first request: ${label}`,
      value: bothMs,
      unit: "ms",
    })),
    ...results.slice(1).map(({ label, ratio }) => {
      const bar = bars[label];
      return { name: `cold, ours / ${label}`, value: ratio, unit: "×", ...(bar === undefined ? {} : { bar }) };
    }),
  ];
  const slowest = Math.max(...results.map(({ bothMs }) => bothMs));
  const rows = results.map(({ label, how, kilobytes, loadMs, firstMs, bothMs, cpuMs, ratio }, index) => [
    label,
    how,
    `${kilobytes}`,
    shown(loadMs),
    shown(firstMs),
    shown(bothMs),
    blocks(bothMs, slowest),
    shown(cpuMs),
    index === 0 ? "" : `${shown(ratio, 2)}×`,
  ]);
  const head = ["", "Bundled", "kB", "Load ms", "First ms", "Both ms", "", "CPU ms", "Ours / this"];
  return { figures, chapter: `${chapterOf(rounds)}\n${table(head, rows)}\n` };
}

const chapterOf = (rounds: number): string => `## Cold start

This suite measures the first \`GET\` of one workspace in a fresh process: load the module, then send the request, over TLS to the
engine.

- The figures are medians of ${rounds} rounds, in which all programs take turns. The last column is the median of the rounds' ratios.
- All programs use the same SDK with the same client options, and read the same item.
- The other programs make one call of the table and nothing else. The bare SDK is a handler with a client and one GetItem.
- Our function also verifies the token, authorizes, charges the rate limit and writes its log line. That takes three more calls and two
  more connections.
- Lambda adds some 125 ms of its own to each.

A profile of our function (\`--cpu-prof\`, November 2026) shows some 30 % in compiling and loading modules, 20 % in the SDK, 14 % in zod and
4 % in garbage collection. zod without its JIT changes nothing. A larger young heap in V8 (\`--min-semi-space-size=16\`) saves a tenth, but
Lambda's \`NODE_OPTIONS\` does not accept this flag.
`;
