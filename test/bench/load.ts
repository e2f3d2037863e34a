import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { median, type Figure } from "./suite.ts";

const runs = 11;
const route = { name: "route", file: "functions/workspaces/list.ts" };
const bare = { name: "bare", file: "test/bench/bare-client.ts" };
/** Code mode with all routes; and what it would hold besides, if the servers of the SDKs of MCP and A2A spoke for it. */
const code = { name: "code", file: "functions/code/handler.ts" };
const sdkServers = { name: "sdk-servers", file: "test/bench/sdk-servers.ts" };

/** Loads a module in a fresh process and prints the milliseconds it took; with a folder, from V8's compile cache. */
const probe = `
const { enableCompileCache, flushCompileCache } = require("node:module");
const [file, cache] = process.argv.slice(1);
if (cache) enableCompileCache(cache);
const { pathToFileURL } = require("node:url");
const started = performance.now();
(file.endsWith("/esm.mjs") ? import(pathToFileURL(file)) : Promise.resolve(require(file))).then(() => {
  process.stdout.write(String(performance.now() - started));
  if (cache) flushCompileCache();
});
`;

const loadMs = (file: string, cache?: string): number =>
  Number(
    execFileSync(process.execPath, ["-e", probe, file, ...(cache === undefined ? [] : [cache])], { encoding: "utf8" }),
  );

/** How long a route's bundle takes to load beside a bundle of the bare SDK client, and how large it is. */
export async function bundleLoad(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-mail-bench-"));
  try {
    const [cjs, esm, plain] = ["cjs", "esm", "plain"].map((name) => join(folder, name)) as [string, string, string];
    await bundleLambdas([bare], plain, { credentials: "anywhere" });
    await bundleLambdas([route, bare, code, sdkServers], cjs, { format: "cjs" });
    await bundleLambdas([route, bare], esm, { format: "esm" });
    for (const { name } of [route, bare]) {
      // An .mjs beside it, so that one probe tells the two apart by name alone.
      await writeFile(join(esm, name, "esm.mjs"), `export * from "./index.js";`);
    }
    const cache = join(folder, "cache");
    await mkdir(cache);
    const variants = {
      plainCjs: () => loadMs(join(plain, "bare/index.js")),
      routeCjs: () => loadMs(join(cjs, "route/index.js")),
      bareCjs: () => loadMs(join(cjs, "bare/index.js")),
      routeEsm: () => loadMs(join(esm, "route/esm.mjs")),
      bareEsm: () => loadMs(join(esm, "bare/esm.mjs")),
      routeCached: () => loadMs(join(cjs, "route/index.js"), cache),
      code: () => loadMs(join(cjs, "code/index.js")),
      sdkServers: () => loadMs(join(cjs, "sdk-servers/index.js")),
      bareCached: () => loadMs(join(cjs, "bare/index.js"), cache),
    };
    for (const measure of Object.values(variants)) measure();
    // Interleaved, so that a slow moment of the machine hits all of them.
    const times = Array.from({ length: runs }, () =>
      Object.fromEntries(Object.entries(variants).map(([name, measure]) => [name, measure()])),
    );
    const of = (name: keyof typeof variants): number => median(times.map((time) => time[name] ?? Number.NaN));
    const kilobytes = async (name: string): Promise<number> => (await stat(join(cjs, `${name}/index.js`))).size / 1000;
    return [
      { name: "bundle of workspaces.list, minified", value: await kilobytes("route"), unit: "kB", bar: 460 },
      { name: "load, CommonJS", value: of("routeCjs"), unit: "ms" },
      { name: "load, bare client as the SDK ships it", value: of("plainCjs"), unit: "ms" },
      { name: "load, bare client with our credentials", value: of("bareCjs"), unit: "ms" },
      { name: "route / bare client as the SDK ships it", value: of("routeCjs") / of("plainCjs"), unit: "×", bar: 1.15 },
      { name: "route / bare client with our credentials", value: of("routeCjs") / of("bareCjs"), unit: "×", bar: 1.15 },
      { name: "load, ES module", value: of("routeEsm"), unit: "ms" },
      { name: "route / bare client, ES module", value: of("routeEsm") / of("bareEsm"), unit: "×" },
      { name: "load, CommonJS from compile cache", value: of("routeCached"), unit: "ms" },
      { name: "… bare client from compile cache", value: of("bareCached"), unit: "ms" },
      { name: "bundle of code mode with all routes, minified", value: await kilobytes("code"), unit: "kB" },
      { name: "… the servers of the SDKs of MCP and A2A alone", value: await kilobytes("sdk-servers"), unit: "kB" },
      { name: "load, code mode with all routes", value: of("code"), unit: "ms" },
      { name: "… the servers of the SDKs alone", value: of("sdkServers"), unit: "ms" },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
