import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import type { Demo } from "../../infra/local/seed/demo.ts";
import { freePort } from "../../infra/local/table/lock.ts";

/** `npm start` of a checkout, with its data in a folder. */
export type Product = {
  baseUrl: string;
  demo: Demo;
  /** The lines of its standard error. */
  lines: ReturnType<typeof createInterface>;
};

/** Starts the product of a checkout, runs something from its first 200 on, and ends it. Throws if it does not start. */
export async function withProduct<T>(
  { checkout, dataDir, env = {} }: { checkout: string; dataDir: string; env?: Record<string, string> },
  run: (product: Product) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const product = spawn("npm", ["start", "--silent"], {
    cwd: checkout,
    env: { ...process.env, PORT: String(port), DNS_PORT: "0", DATA_DIR: dataDir, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    const lines = createInterface(product.stderr);
    lines.on("line", (line) => process.stderr.write(`  ${line}\n`));
    const baseUrl = `http://127.0.0.1:${port}`;
    for (;;) {
      if (product.exitCode !== null) throw new Error(`npm start ended with ${product.exitCode}`);
      const demo = await demoOf(baseUrl, dataDir);
      if (demo) return await run({ baseUrl, demo, lines });
      await pause(20);
    }
  } finally {
    if (product.exitCode === null) {
      product.kill("SIGTERM");
      await once(product, "exit");
    }
  }
}

/** The demo's tokens once the product answers one of them with 200; undefined before. */
async function demoOf(baseUrl: string, dataDir: string): Promise<Demo | undefined> {
  try {
    const demo = JSON.parse(await readFile(join(dataDir, "demo.json"), "utf8")) as Demo;
    const headers = { authorization: `Bearer ${demo.accounts[0]?.owner.token}` };
    return (await fetch(`${baseUrl}/v1/public/accounts`, { headers })).status === 200 ? demo : undefined;
  } catch {
    return undefined;
  }
}
