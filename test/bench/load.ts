import { rename, stat } from "node:fs/promises";
import { join } from "node:path";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { askOnce, startLambda } from "./contestant.ts";
import { inFolder, inTurns, median, type Result } from "./harness.ts";

const rounds = 11;
const route = { name: "route", file: "functions/workspaces/list.ts" };
const bare = { name: "bare", file: "test/bench/bare-client.ts" };
/** Code mode with all routes; and what its bundle would hold besides, with the servers of the SDKs of MCP and A2A. */
const code = { name: "code", file: "functions/code/handler.ts" };
const sdkServers = { name: "sdk-servers", file: "test/bench/sdk-servers.ts" };

/** Milliseconds in which a route's bundle loads, beside a bundle of the bare SDK client, and the kilobytes of bundles. */
export const run = (): Promise<Result> =>
  inFolder(async (folder) => {
    await bundleLambdas([bare], join(folder, "plain"), { credentials: "anywhere" });
    await bundleLambdas([route, bare, code, sdkServers], join(folder, "cjs"), { format: "cjs" });
    await bundleLambdas([route, bare], join(folder, "esm"), { format: "esm" });
    for (const name of ["route", "bare"]) {
      await rename(join(folder, "esm", name, "index.js"), join(folder, "esm", name, "index.mjs"));
    }
    const variants = {
      plain: ["plain/bare/index.js"],
      route: ["cjs/route/index.js"],
      bare: ["cjs/bare/index.js"],
      routeEsm: ["esm/route/index.mjs"],
      bareEsm: ["esm/bare/index.mjs"],
      routeCached: ["cjs/route/index.js", join(folder, "cache")],
      bareCached: ["cjs/bare/index.js", join(folder, "cache")],
      code: ["cjs/code/index.js"],
      sdkServers: ["cjs/sdk-servers/index.js"],
    };
    const loads = Object.values(variants).map(([file = "", cache = ""]) => async () => {
      const { loadMs } = await askOnce(startLambda(join(folder, file), ["", cache]), {}, 0);
      return loadMs;
    });
    // The first round fills the caches.
    await inTurns(1, loads);
    const samples = await inTurns(rounds, loads);
    const ms = (name: keyof typeof variants): number => median(samples[Object.keys(variants).indexOf(name)] ?? []);
    const kilobytes = async (name: string): Promise<number> =>
      (await stat(join(folder, `cjs/${name}/index.js`))).size / 1000;
    return {
      figures: [
        { name: "bundle of workspaces.list, minified", value: await kilobytes("route"), unit: "kB", bar: 460 },
        { name: "load, CommonJS", value: ms("route"), unit: "ms" },
        { name: "load, bare client as the SDK ships it", value: ms("plain"), unit: "ms" },
        { name: "load, bare client with our credentials", value: ms("bare"), unit: "ms" },
        { name: "route / bare client as the SDK ships it", value: ms("route") / ms("plain"), unit: "×", bar: 1.15 },
        { name: "route / bare client with our credentials", value: ms("route") / ms("bare"), unit: "×", bar: 1.15 },
        { name: "load, ES module", value: ms("routeEsm"), unit: "ms" },
        { name: "route / bare client, ES module", value: ms("routeEsm") / ms("bareEsm"), unit: "×" },
        { name: "load, CommonJS from compile cache", value: ms("routeCached"), unit: "ms" },
        { name: "… bare client from compile cache", value: ms("bareCached"), unit: "ms" },
        { name: "bundle of code mode with all routes, minified", value: await kilobytes("code"), unit: "kB" },
        { name: "… the servers of the SDKs of MCP and A2A alone", value: await kilobytes("sdk-servers"), unit: "kB" },
        { name: "load, code mode with all routes", value: ms("code"), unit: "ms" },
        { name: "… the servers of the SDKs alone", value: ms("sdkServers"), unit: "ms" },
      ],
    };
  });
