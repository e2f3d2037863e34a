import { rename, stat } from "node:fs/promises";
import { join } from "node:path";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { startLambda } from "./contestant.ts";
import { inTurns, mapValues, median, newFolder, ratioOf, type Options, type Result } from "./harness.ts";

const route = { name: "route", file: "functions/workspaces/list.ts" };
const bare = { name: "bare", file: "test/bench/bare-client.ts" };
/** Code mode with all routes. Its bundle is compared with the size of the SDKs' servers for MCP and A2A. */
const code = { name: "code", file: "functions/code/handler.ts" };
const servers = { name: "servers", file: "test/bench/sdk-servers.ts" };

/**
 * Measures the milliseconds of loading a route's bundle and a bundle of the bare SDK client, and the kilobytes of
 * bundles.
 */
export async function run({ quick }: Options): Promise<Result> {
  await using folder = await newFolder();
  const at = (path: string): string => join(folder.path, path);
  await bundleLambdas([bare], at("plain"), { credentials: "anywhere" });
  await bundleLambdas([route, bare, code, servers], at("cjs"), { format: "cjs" });
  await bundleLambdas([route, bare], at("esm"), { format: "esm" });
  for (const name of ["route", "bare"]) await rename(at(`esm/${name}/index.js`), at(`esm/${name}/index.mjs`));
  const load =
    (file: string, cache = "") =>
    async () => {
      using lambda = startLambda(at(file), ["", cache]);
      const { loadMs } = await lambda.ask({}, 0);
      return loadMs;
    };
  const variants = {
    plain: load("plain/bare/index.js"),
    route: load("cjs/route/index.js"),
    bare: load("cjs/bare/index.js"),
    routeEsm: load("esm/route/index.mjs"),
    bareEsm: load("esm/bare/index.mjs"),
    routeCached: load("cjs/route/index.js", at("cache")),
    bareCached: load("cjs/bare/index.js", at("cache")),
    code: load("cjs/code/index.js"),
    servers: load("cjs/servers/index.js"),
  };
  // The first round fills the caches.
  await inTurns(1, variants);
  const all = await inTurns(quick ? 5 : 21, variants);
  const ms = mapValues(all, (values) => ({ value: median(values), unit: "ms" }));
  const ratio = (one: number[], other: number[]) => ({ value: ratioOf(one, other), unit: "×" });
  const size = async (name: string) => ({ value: (await stat(at(`cjs/${name}/index.js`))).size / 1000, unit: "kB" });
  return {
    figures: [
      { name: "bundle of workspaces.list, minified", ...(await size("route")), bar: 460 },
      { name: "load, CommonJS", ...ms.route },
      { name: "load, bare client as the SDK ships it", ...ms.plain },
      { name: "load, bare client with our credentials", ...ms.bare },
      { name: "route / bare client as the SDK ships it", ...ratio(all.route, all.plain), bar: 0.9 },
      { name: "route / bare client with our credentials", ...ratio(all.route, all.bare), bar: 1.15 },
      { name: "load, ES module", ...ms.routeEsm },
      { name: "route / bare client, ES module", ...ratio(all.routeEsm, all.bareEsm) },
      { name: "load, CommonJS from compile cache", ...ms.routeCached },
      { name: "… bare client from compile cache", ...ms.bareCached },
      { name: "bundle of code mode with all routes, minified", ...(await size("code")) },
      { name: "… the servers of the SDKs of MCP and A2A alone", ...(await size("servers")) },
      { name: "load, code mode with all routes", ...ms.code },
      { name: "… the servers of the SDKs alone", ...ms.servers },
    ],
  };
}
