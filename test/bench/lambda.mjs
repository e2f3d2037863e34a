import { createRequire, enableCompileCache, flushCompileCache } from "node:module";
import { pathToFileURL } from "node:url";

/*
 * The process of one Lambda. Its arguments are the file of its module, a name for the workspaces that it adds, and the
 * folder of V8's compile cache, if the process uses this cache. The process answers each order of its parent with these
 * values:
 * - `loadMs`: the milliseconds of loading the module
 * - `ms`: the milliseconds of each request
 * - `cpuMs`: the processor's milliseconds since the last answer. The first answer counts from the start of the loading.
 * - `statusCode` and `body` of the last response
 */
const [file, name, cache] = process.argv.slice(2);
if (cache) enableCompileCache(cache);
let before = process.cpuUsage();
const startedAt = performance.now();
const loaded = file.endsWith(".mjs") ? await import(pathToFileURL(file)) : createRequire(import.meta.url)(file);
const loadMs = performance.now() - startedAt;
if (cache) flushCompileCache();
let added = 0;

async function answer(event) {
  if (event.body !== undefined) {
    event.body = JSON.stringify({ name: `${name} ${added++}` });
    event.headers["content-length"] = String(Buffer.byteLength(event.body));
  }
  const startedAt = performance.now();
  const context = { functionName: "bench", awsRequestId: "00000000-0000-4000-8000-000000000000" };
  const response = await loaded.handler(event, context);
  return { ...response, ms: performance.now() - startedAt };
}

process.on("message", async ({ event, times }) => {
  const ms = [];
  let last = {};
  for (let index = 0; index < times && !(last.statusCode >= 300); index++) {
    last = await answer(structuredClone(event));
    ms.push(last.ms);
  }
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  process.send({ loadMs, ms, cpuMs: (user + system) / 1000, statusCode: last.statusCode, body: last.body });
});
