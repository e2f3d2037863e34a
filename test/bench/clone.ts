import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";

import { newFolder, timed, type Result } from "./harness.ts";
import { startProduct } from "./product.ts";

/** Seconds from a fresh clone of HEAD to the first 200, as a new user has them. */
export async function run(): Promise<Result> {
  await using folder = await newFolder();
  const checkout = join(folder.path, "clone");
  execFileSync("git", ["clone", "--quiet", resolve(import.meta.dirname, "../.."), checkout]);
  const installing = await timed(() =>
    execFileSync("npm", ["ci", "--silent"], { cwd: checkout, stdio: ["ignore", "ignore", "inherit"] }),
  );
  const startedAt = performance.now();
  await using _ = await startProduct(checkout, join(checkout, ".data"));
  return {
    figures: [
      { name: "npm ci", value: installing / 1000, unit: "s" },
      { name: "npm start to the first 200", value: (performance.now() - startedAt) / 1000, unit: "s" },
    ],
  };
}
