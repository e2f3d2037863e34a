import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { bundleLambdas, productAssets } from "../../../infra/build/bundle.ts";
import { addStack, createApp } from "../../../infra/cdk/stack.ts";
import { readConfig } from "../../../infra/config/config.ts";
import { lambdas, originAuthorizer, secretRotator, web, workers } from "../../../infra/entry-points.ts";
import { settings as example } from "../../../infra/stages/example.ts";

// As in synthesis.ts.
process.env["CDK_VALIDATION"] = "false";

const folder = mkdtempSync(join(tmpdir(), "unchanged-"));
afterAll(() => rmSync(folder, { recursive: true }));

// All functions that have files beside their code, and a few functions without such files.
const names = [
  "docs",
  "fallback",
  "me.get",
  "billing.invoices.download",
  "workers.publish_changes",
  "origin_authorizer",
];
const wanted = <T extends { name: string }>(specs: readonly T[]) => specs.filter(({ name }) => names.includes(name));

/** Bundles and synthesizes in its own folder. Returns the files that a deployment reads, by name. */
async function synthesis(place: string, specs: "in order" | "in reverse"): Promise<Record<string, string>> {
  const bundles = join(folder, place, "bundles");
  const all = [...wanted(lambdas), ...wanted(workers), originAuthorizer, secretRotator, web];
  await bundleLambdas(specs === "in order" ? all : all.toReversed(), bundles, { assets: productAssets });
  // Each place has other times of the files, as after a fresh checkout.
  for (const name of names) utimesSync(join(bundles, name, "index.js"), 0, place.length);
  const app = createApp(join(folder, place, "out"));
  const config = readConfig(() => undefined, {}, { ...example, routeThrottles: {} });
  addStack(app, { lambdas: wanted(lambdas), workers: wanted(workers) }, bundles, config);
  app.synth();
  const files = readdirSync(join(folder, place, "out")).filter((name) => /\.(?:template|assets)\.json$/.test(name));
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, place, "out", name), "utf8")]));
}

test("the same sources give the same templates and hashes of assets, in any folder and at any time, so nothing is deployed", async () => {
  const first = await synthesis("first", "in order");
  const second = await synthesis("second/elsewhere", "in reverse");
  expect(Object.keys(first).length).toBe(4);
  expect(second).toEqual(first);
});

test("a change of one function changes its asset and no other", async () => {
  const bundles = join(folder, "changed", "bundles");
  await bundleLambdas([...wanted(lambdas)], bundles, { assets: async () => ({ docs: [], fallback: [] }) });
  const hashes = async (note: string) => {
    writeFileSync(join(bundles, "me.get", "note"), note);
    const app = createApp(join(folder, "changed", note));
    const config = readConfig(() => undefined, {});
    const stack = addStack(app, { lambdas: wanted(lambdas), workers: [] }, bundles, config);
    app.synth();
    const text: string = readFileSync(join(folder, "changed", note, `${stack.stackName}.template.json`), "utf8");
    return [...text.matchAll(/"S3Key": ?"[0-9a-f]{64}/g)].map(([hash]) => hash);
  };
  const [before, after] = [await hashes("one"), await hashes("another")];
  expect(before.filter((hash) => !after.includes(hash))).toHaveLength(1);
});
