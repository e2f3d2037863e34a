import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";

import { inFolder, timed, type Result } from "./harness.ts";
import { withProduct } from "./product.ts";

/** Seconds from a fresh clone of HEAD to the first 200, as a new user has them. */
export const run = (): Promise<Result> =>
  inFolder(async (folder) => {
    const checkout = join(folder, "clone");
    execFileSync("git", ["clone", "--quiet", resolve(import.meta.dirname, "../.."), checkout]);
    const installing = await timed(() =>
      execFileSync("npm", ["ci", "--silent"], { cwd: checkout, stdio: ["ignore", "ignore", "inherit"] }),
    );
    const startedAt = performance.now();
    const dataDir = join(checkout, ".data");
    const starting = await withProduct({ checkout, dataDir }, async () => performance.now() - startedAt);
    return {
      figures: [
        { name: "npm ci", value: installing / 1000, unit: "s" },
        { name: "npm start to the first 200", value: starting / 1000, unit: "s" },
      ],
    };
  });
