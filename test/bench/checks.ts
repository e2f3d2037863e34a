import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { timed, type Result } from "./harness.ts";

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
    { name: "npm run synth", value: await secondsOf("synth"), unit: "s", bar: 7 },
    { name: "npm run vitest", value: await secondsOf("vitest"), unit: "s", bar: 120 },
  ],
});
