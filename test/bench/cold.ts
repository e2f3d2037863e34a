import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { certificateFor } from "../shared/webhooks/certificate.ts";
import { newUser } from "../support/world.ts";
import { newEvents, race, startLambda, type Answer } from "./contestant.ts";
import { median, newFolder, ratioOf, type Options, type Result } from "./harness.ts";
import { bundlePeers } from "./peers.ts";

/** The largest allowed ratios of our time to the time of a peer. Peers that are not listed have no bar. */
const bars: Record<string, object> = {
  "bare SDK": { bar: 1 },
  Express: { bar: 0.5 },
  "Express, bundled": { bar: 0.5 },
};

const firstOf = ({ ms: [first = Number.NaN] }: Answer): number => first;
const bothOf = (answer: Answer): number => answer.loadMs + firstOf(answer);

/** Measures cold starts of the read of one workspace, and of the same read in the peers (`peers.ts`). */
export async function run({ quick }: Options): Promise<Result> {
  await using folder = await newFolder();
  const bundle = join(folder.path, "bundles/read");
  await bundleLambdas([{ name: "read", file: "functions/workspaces/get.ts" }], join(folder.path, "bundles"));
  const { size: bytes } = await stat(join(bundle, "index.js"));
  const ours = { label: "this API", file: join(bundle, "init.mjs"), bytes };
  const all = [ours, ...(await bundlePeers("cold"))];
  const front = await startTlsFront(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", folder.path);
  const { get } = await newEvents(newUser(), 25);
  const runners = all.map(({ label, file }) => {
    const start = async (times: number): Promise<Answer> => {
      using lambda = startLambda(file, [], front.env);
      return await lambda.ask(get, times);
    };
    return [label, start] as const;
  });
  const samples = await race(Object.fromEntries(runners), { rounds: quick ? 5 : 31, times: 1, warmUp: 1 });
  front.server.close();
  const rows = all.map(({ label, bytes }) => {
    const own = samples[label] ?? [];
    return {
      Program: label,
      kB: bytes / 1000,
      "Load ms": median(own.map(({ loadMs }) => loadMs)),
      "First ms": median(own.map(firstOf)),
      "Both ms": median(own.map(bothOf)),
      "CPU ms": median(own.map(({ cpuMs }) => cpuMs)),
      "Ours / this": ratioOf(samples[ours.label]?.map(bothOf), own.map(bothOf)),
    };
  });
  const absolute = rows.map(({ Program, "Both ms": value }) => {
    return { name: `cold, load and first request: ${Program}`, value, unit: "ms" };
  });
  const ratios = rows.slice(1).map(({ Program, "Ours / this": value }) => {
    return { name: `cold, ours / ${Program}`, value, unit: "×", ...bars[Program] };
  });
  return { figures: [...absolute, ...ratios], tables: { "Medians of the programs": rows } };
}

/**
 * Puts TLS in front of the engine, as DynamoDB has it. Over plain HTTP, the SDK's first call loads modules that it does
 * not need on Lambda. Returns the environment of a process that uses and trusts this server.
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
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return { env: { AWS_ENDPOINT_URL_DYNAMODB: url, NODE_EXTRA_CA_CERTS: file }, server };
}
