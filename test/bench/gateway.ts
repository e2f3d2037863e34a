import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";

import { newFolder, quantile, root, type Figure, type Options, type Result } from "./harness.ts";
import { startProduct } from "./product.ts";

const concurrencies = [1, 8, 32, 128];

/** A module that makes its process write the microseconds of its processor time at a signal. */
const reportCpu = `data:text/javascript,process.on("SIGUSR2",()=>process.stderr.write("cpu:"+Object.values(process.cpuUsage()).join("+")+"\\n"))`;

/**
 * Measures `npm start` under reads: requests a second at several concurrencies, their p99, and the gateway's processor
 * time.
 */
export async function run({ quick }: Options): Promise<Result> {
  await using folder = await newFolder();
  const env = { LOG_LEVEL: "silent", NODE_OPTIONS: `--import=${encodeURI(reportCpu)}` };
  await using product = await startProduct(folder.path, env);
  const get = await readerOf(product, folder.path);
  const seconds = quick ? 0.5 : 5;
  await load(get, 32, seconds);
  const figures: Figure[] = [];
  for (const concurrency of concurrencies) {
    const before = await cpuMs(product);
    const times = await load(get, concurrency, seconds);
    const cpu = (await cpuMs(product)) - before;
    const of = `GET, ${concurrency} at a time:`;
    figures.push(
      { name: `${of} requests`, value: times.length / seconds, unit: "a second" },
      { name: `${of} p99`, value: quantile(times, 0.99), unit: "ms" },
      { name: `${of} processor time of the gateway and the handler`, value: cpu / times.length, unit: "ms" },
    );
  }
  return { figures };
}

type Product = Awaited<ReturnType<typeof startProduct>>;

/** Makes a function that reads a workspace over a kept connection. The function throws for any answer but 200. */
async function readerOf({ baseUrl, demo }: Product, dataDir: string): Promise<() => Promise<void>> {
  const { id = "", owner } = demo.accounts[0] ?? {};
  const roomy = ["--account", id, "--class", "default", "--per-minute", "1000000", "--burst", "1000000"];
  const env = { ...process.env, DATA_DIR: dataDir };
  execFileSync("npm", ["run", "--silent", "operator", "--", "limits", "set", ...roomy], { cwd: root, env });
  const headers = { authorization: `Bearer ${owner?.token}`, "content-type": "application/json" };
  const path = `/v1/public/accounts/${id}/workspaces`;
  const made = await fetch(baseUrl + path, { method: "POST", headers, body: '{"name":"One"}' });
  const { id: workspaceId } = (await made.json()) as { id: string };
  const agent = new Agent({ keepAlive: true });
  return async () => {
    const sent = request(`${baseUrl}${path}/${workspaceId}`, { agent, headers }).end();
    const [response] = await once(sent, "response");
    response.resume();
    await once(response, "end");
    if (response.statusCode !== 200) throw new Error(`The gateway answered ${response.statusCode}.`);
  };
}

/** Sends requests for some seconds, `concurrency` at a time. Returns the milliseconds of each. */
async function load(get: () => Promise<void>, concurrency: number, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const work = async (): Promise<void> => {
    for (let atMs = performance.now(); atMs < endMs;) {
      await get();
      const nextMs = performance.now();
      times.push(nextMs - atMs);
      atMs = nextMs;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return times;
}

/** The processor time of a product's process so far, in milliseconds. */
async function cpuMs({ report }: Product): Promise<number> {
  const [, user, system] = await report(/^cpu:(\d+)\+(\d+)$/);
  return (Number(user) + Number(system)) / 1_000;
}
