import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import type { Figure } from "./suite.ts";

const cwd = resolve(import.meta.dirname, "../..");

/** Seconds an npm script takes. Throws when it fails. */
function secondsOf(script: string): number {
  const startedAt = performance.now();
  execFileSync("npm", ["run", "--silent", script], { cwd, stdio: ["ignore", "ignore", "inherit"] });
  return (performance.now() - startedAt) / 1000;
}

/** How long contributors wait for the templates and for the tests. */
export const checkTimes = async (): Promise<Figure[]> => [
  { name: "npm run synth", value: secondsOf("synth"), unit: "s", bar: 8 },
  { name: "npm run vitest", value: secondsOf("vitest"), unit: "s", bar: 90 },
];
