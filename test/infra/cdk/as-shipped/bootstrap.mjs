import dns from "node:dns";
import { existsSync } from "node:fs";
import { Agent, request } from "node:http";
import { enableCompileCache } from "node:module";
import { isIP } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/*
 * Runs a function as Lambda's runtime for Node does: loads the handler of _HANDLER in LAMBDA_TASK_ROOT, then asks the
 * Runtime API for one event after another (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). Only this machine
 * can be reached: every other host is unknown.
 */
const { lookup } = dns;
dns.lookup = (host, ...rest) => {
  if (isIP(host) || host === "localhost") lookup(host, ...rest);
  else rest.at(-1)(Object.assign(new Error(`${host} is not on this machine`), { code: "ENOTFOUND" }));
};

enableCompileCache(join(import.meta.dirname, "../../../../node_modules/.cache/as-shipped"));

const { AWS_LAMBDA_RUNTIME_API: api, LAMBDA_TASK_ROOT: root, _HANDLER: handlerName } = process.env;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function ask(method, path, value) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const sent = request(`http://${api}/2018-06-01/runtime/${path}`, { method, agent }, async (answer) => {
    const parts = await answer.toArray().catch(reject);
    resolve({ headers: answer.headers, text: Buffer.concat(parts ?? []).toString() });
  });
  sent.on("error", reject).end(value === undefined ? undefined : JSON.stringify(value));
  return promise;
}

const reportOf = (error) => ({
  errorType: error?.name ?? "Error",
  errorMessage: error?.message ?? String(error),
  trace: String(error?.stack ?? "").split("\n"),
});

async function load() {
  const [file, exported] = handlerName.split(".");
  const found = [".js", ".mjs", ".cjs"].map((ending) => join(root, file + ending)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${root} has no module ${file}`);
  const { [exported]: handler } = await import(pathToFileURL(found));
  if (typeof handler !== "function") throw new Error(`${handlerName} is not a function`);
  return handler;
}

const handler = await load().catch(async (error) => {
  await ask("POST", "init/error", reportOf(error));
  process.exit(1);
});

for (;;) {
  const { headers, text } = await ask("GET", "invocation/next");
  const id = headers["lambda-runtime-aws-request-id"];
  const context = {
    awsRequestId: id,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: "$LATEST",
    invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    getRemainingTimeInMillis: () => Number(headers["lambda-runtime-deadline-ms"]) - Date.now(),
  };
  try {
    const result = await handler(JSON.parse(text), context);
    await ask("POST", `invocation/${id}/response`, result ?? null);
  } catch (error) {
    await ask("POST", `invocation/${id}/error`, reportOf(error));
  }
}
