import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

import { afterAll, describe, expect, test } from "vitest";

import { bundleLambdas, invoiceAssets } from "../../../infra/build/bundle.ts";
import { workers } from "../../../infra/entry-points.ts";
import { ResourceType } from "../../../shared/auth/permissions.ts";
import { ActorType } from "../../../shared/changes/record.ts";
import { dayOf, nextMonth, plusDays } from "../../../shared/core/time.ts";
import { billing, closeDays, use } from "../../support/billing.ts";
import { listen } from "../../support/listen.ts";
import { eventOf, handlerOf } from "../../support/request.ts";
import { issuer, newAccount } from "../../support/world.ts";

const folder = mkdtempSync(join(tmpdir(), "bundle-"));
afterAll(() => rm(folder, { recursive: true }));

const lambdas = [
  { name: "me.get", file: "functions/me/get.ts" },
  { name: "workspaces.list", file: "functions/workspaces/list.ts" },
];

/** The folder of the bundles that several tests read, and that no test changes. */
const shared = join(folder, "shared");
let bundled: ReturnType<typeof bundleLambdas> | undefined;
const sharedBundles = () => (bundled ??= bundleLambdas(lambdas, shared));

/**
 * The folder of other bundles of the same Lambdas: made in another order, with assets, and beside the bundle of a
 * Lambda that is no longer in the list.
 */
const other = join(folder, "other", "elsewhere");
let bundledAgain: ReturnType<typeof bundleLambdas> | undefined;
const otherBundles = () => (bundledAgain ??= bundleOther());

async function bundleOther(): ReturnType<typeof bundleLambdas> {
  mkdirSync(join(other, "me.removed"), { recursive: true });
  writeFileSync(join(other, "me.removed/index.js"), "");
  const assets = async () => ({
    "me.get": [
      { to: "openapi.json", content: "{}" },
      { to: "search/LICENSE", from: "node_modules/minisearch/LICENSE.txt" },
    ],
  });
  return bundleLambdas(lambdas.toReversed(), other, { assets });
}

const download = "functions/billing/invoices/download.ts";

test.each(["cjs", "esm"] as const)("a bundle in %s needs nothing but Node", async (format) => {
  const outdir = format === "cjs" ? shared : join(folder, format);
  await (format === "cjs" ? sharedBundles() : bundleLambdas(lambdas, outdir, { format }));
  for (const { name } of lambdas) {
    const bundle: unknown = await import(join(outdir, name, "index.js"));
    expect(bundle).toHaveProperty("handler", expect.any(Function));
  }
});

test("the AWS SDK's client of the table is in no bundle, but in a file beside each bundle, which the bundle can load", async () => {
  const { outputs } = await sharedBundles();
  const inBundles = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  expect(inBundles.filter((input) => /@aws-sdk\/(?:client|lib)-dynamodb/.test(input))).toEqual([]);
  const sender = `import("./me.get/table-sdk.js").then(({ sdkSender }) => process.stdout.write(typeof sdkSender({})))`;
  expect(execFileSync(process.execPath, ["-e", sender], { cwd: shared, encoding: "utf8" })).toBe("function");
});

describe("the module that Lambda loads", () => {
  const load = async (env: Record<string, string>, before = "") => {
    await sharedBundles();
    const program = `${before} import("./me.get/init.mjs").then(({ handler }) => process.stdout.write(typeof handler))`;
    const options = { cwd: shared, env: { PATH: process.env["PATH"] ?? "", ...env } };
    return (await promisify(execFile)(process.execPath, ["-e", program], options)).stdout;
  };

  test("connects to the table before the first request", async () => {
    const asked: string[] = [];
    const table = createServer((request, response) => {
      asked.push(String(request.headers["x-amz-target"]));
      response.end("{}");
    });
    const env = {
      TABLE_NAME: "table",
      ISSUERS: JSON.stringify([issuer.issuerConfig()]),
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${await listen(table)}`,
    };
    expect(await load(env)).toBe("function");
    expect(asked).toEqual(["DynamoDB_20120810.GetItem", "DynamoDB_20120810.GetItem"]);
  });

  test("compiles no schema, because compiling a schema takes longer than interpreting it once", async () => {
    const report = 'globalThis.Function = function () { process.stdout.write("compiles, "); };';
    expect(await load({}, report)).toBe("function");
  });

  test("has its handler even if the environment is wrong, so the first request can report the mistake", async () => {
    expect(await load({})).toBe("function");
  });
});

test("the bundle of every worker loads without an environment, and opens no resource when it loads", async () => {
  const outdir = join(folder, "workers");
  const { outputs } = await bundleLambdas(workers, outdir);
  const program = [
    "const before = process.getActiveResourcesInfo().length;",
    ...workers.map(({ name }) => `if (typeof require("./${name}/index.js").handler !== "function") throw "${name}";`),
    "process.stdout.write(`${process.getActiveResourcesInfo().length - before} opened`);",
  ].join("\n");
  const options = { cwd: outdir, env: { PATH: process.env["PATH"] ?? "" }, encoding: "utf8" } as const;
  // `process.stdout` opens standard output before the program counts, so it does not count as opened by a bundle.
  expect(execFileSync(process.execPath, ["-e", `process.stdout; ${program}`], options)).toBe("0 opened");
  // No worker needs the value of `import.meta.url`, which the build would add to its bundle.
  const located = Object.entries(outputs).filter(([, { inputs }]) => "infra/build/import-meta-url.ts" in inputs);
  expect(located).toEqual([]);
});

test("the bundled download makes the same PDF as its source, with the fonts beside it, in any working directory", async () => {
  const [outdir, name] = [join(folder, "invoices"), "billing.invoices.download"];
  await bundleLambdas([{ name, file: download }], outdir, { assets: async () => ({ [name]: invoiceAssets }) });
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, plusDays(nextMonth(dayOf(new Date())), -1));
  const [invoice] = (await billing(account, "GET", "invoices")).body.items;
  const { pathname, search } = new URL(invoice.download_url);
  const event = eventOf("GET", `${pathname}${search}`);
  const call = `require(${JSON.stringify(join(outdir, name))}).handler(${JSON.stringify(event)})`;
  // The handler logs to standard output. So the program writes the body to a file of its own, as file descriptor 3.
  const program = `${call}.then(({ body }) => require("node:fs").writeSync(3, body))`;
  const written = join(folder, "pdf");
  const file = openSync(written, "w");
  execFileSync(process.execPath, ["-e", program], { cwd: tmpdir(), stdio: ["ignore", "ignore", "inherit", file] });
  const { body = "" } = await (await handlerOf({ file: download }))(event);
  expect(Buffer.from(body, "base64").subarray(0, 5).toString()).toBe("%PDF-");
  expect(readFileSync(written, "utf8")).toBe(body);
});

test("the same sources give the same bytes, so an unchanged function is not deployed again", async () => {
  await Promise.all([sharedBundles(), otherBundles()]);
  const files = ["index.js", "init.mjs", "package.json", "table-sdk.js"];
  for (const { name } of lambdas) {
    expect(readdirSync(join(shared, name)).toSorted()).toEqual(files);
    for (const file of files) {
      expect(readFileSync(join(other, name, file)).equals(readFileSync(join(shared, name, file)))).toBe(true);
    }
  }
});

test("files lie beside the handler that needs them, and only there", async () => {
  await otherBundles();
  expect(readFileSync(join(other, "me.get/openapi.json"), "utf8")).toBe("{}");
  expect(existsSync(join(other, "me.get/search/LICENSE"))).toBe(true);
  expect(existsSync(join(other, "workspaces.list/openapi.json"))).toBe(false);
});

test("files for a Lambda that does not exist are refused", async () => {
  const assets = async () => ({ "me.gone": [{ to: "openapi.json", content: "{}" }] });
  await expect(bundleLambdas(lambdas, join(folder, "typo"), { assets })).rejects.toThrow("me.gone");
});

test("a Lambda that is no longer in the list leaves nothing behind", async () => {
  await otherBundles();
  expect(readdirSync(other).toSorted()).toEqual(["me.get", "meta.json", "workspaces.list"]);
});

test("meta.json lists the inputs of each bundle, and the DynamoDB SDK comes as ES modules", async () => {
  await sharedBundles();
  const { outputs } = JSON.parse(readFileSync(join(shared, "meta.json"), "utf8"));
  const output = Object.keys(outputs).find((path) => path.endsWith("me.get/index.js")) ?? "";
  const inputs = Object.keys(outputs[output].inputs);
  expect(inputs).toContain("functions/me/get.ts");
  expect(inputs).not.toContain("functions/workspaces/list.ts");
  expect(inputs.filter((input) => /client-dynamodb\/dist-cjs/.test(input))).toEqual([]);
});

test("no bundle wraps zod in a function, because a wrapped zod loads slower", async () => {
  await sharedBundles();
  const { outputs } = JSON.parse(readFileSync(join(shared, "meta.json"), "utf8"));
  const bundles = Object.entries<{ inputs: Record<string, { bytesInOutput: number }> }>(outputs);
  // This module only re-exports other modules. It has bytes in a bundle only if esbuild wraps it in a function.
  const wrapped = bundles.filter(
    ([, { inputs }]) => (inputs["node_modules/zod/v4/classic/external.js"]?.bytesInOutput ?? 0) > 0,
  );
  expect(wrapped.map(([path]) => path)).toEqual([]);
  expect(bundles.some(([, { inputs }]) => "node_modules/zod/v4/classic/external.js" in inputs)).toBe(true);
});

test("an unused schema is not in a Lambda's bundle, and a used one is", async () => {
  await sharedBundles();
  const bundle = readFileSync(join(shared, "me.get/index.js"), "utf8");
  const has = (...values: string[]): boolean => bundle.includes(JSON.stringify(values));
  expect({ actors: has(...ActorType.options), scopes: has(...ResourceType.options) }).toEqual({
    actors: false,
    scopes: true,
  });
});

test("of several routes, only those that need the public suffix of a name carry the list of public suffixes", async () => {
  const routes =
    "domains/add domains/list domains/get dns-records/add dns-records/import mailboxes/add forwarding/add " +
    "forwarding/activate auth/invitations/list limits/get workspaces/delete " +
    "dedicated-ips/domains/assign credentials/add auth/groups/list webhooks/delete";
  const specs = routes.split(" ").map((path) => ({
    name: path.replaceAll("/", "."),
    file: `functions/${path}.ts`,
  }));
  const { outputs } = await bundleLambdas(specs, join(folder, "suffixes"));
  const carrying = Object.entries(outputs).filter(([, { inputs }]) =>
    Object.keys(inputs).some((input) => input.includes("node_modules/tldts")),
  );
  expect(carrying.map(([path]) => basename(dirname(path)))).toEqual(["domains.add", "forwarding.add"]);
});
