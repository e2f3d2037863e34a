import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { newFolder, root, secondsOf, type Result } from "./harness.ts";
import { startProduct } from "./product.ts";

/** Measures the seconds from a fresh clone of HEAD to the first 200, as for a new user. */
export async function run(): Promise<Result> {
  await using folder = await newFolder();
  const checkout = join(folder.path, "clone");
  execFileSync("git", ["clone", "--quiet", root, checkout]);
  const installing = secondsOf(["ci"], checkout);
  const startedAt = performance.now();
  await using _ = await startProduct(join(checkout, ".data"), {}, checkout);
  return {
    figures: [
      { name: "npm ci", value: installing, unit: "s" },
      { name: "npm start to the first 200", value: (performance.now() - startedAt) / 1000, unit: "s" },
    ],
  };
}
