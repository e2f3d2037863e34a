import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { timed, type Result } from "./harness.ts";

const chapter = `## What contributors wait for

These are profiles of November 2026 on this machine.

- \`npm run synth\`: esbuild links 117 bundles of some 700 modules each, on both processors for 4 to 5 s, while the CDK loads. Then the CDK
  validates the template for 2 s.
- \`npm run vitest\` takes 370 s of processor time, and uses both processors for 95 % of its duration. Half of this time goes to the tests of
  routes: each runs in a new account, and the engine takes 0.14 ms for an item of a transaction. A sixth goes to the browser. The last third
  goes to tests that start or bundle the product, and to tests of the other code.
`;

/** Seconds that an npm script takes. Throws if it fails. */
async function secondsOf(script: string): Promise<number> {
  const cwd = resolve(import.meta.dirname, "../..");
  const ms = await timed(() =>
    execFileSync("npm", ["run", "--silent", script], { cwd, stdio: ["ignore", "ignore", "inherit"] }),
  );
  return ms / 1000;
}

/** How long contributors wait for the templates and for the tests. */
export const run = async (): Promise<Result> => ({
  figures: [
    { name: "npm run synth", value: await secondsOf("synth"), unit: "s", bar: 8 },
    { name: "npm run vitest", value: await secondsOf("vitest"), unit: "s", bar: 90 },
  ],
  chapter,
});
