import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import type { Figure } from "./suite.ts";

const port = "8697";

/** Seconds from a fresh clone of HEAD to the first 200, as a new user has them. */
export async function cloneToFirstAnswer(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-mail-clone-"));
  const clone = join(folder, "clone");
  try {
    execFileSync("git", ["clone", "--quiet", resolve(import.meta.dirname, "../.."), clone]);
    const installing = performance.now();
    execFileSync("npm", ["ci", "--silent"], { cwd: clone, stdio: ["ignore", "ignore", "inherit"] });
    const starting = performance.now();
    const answered = await startUntilAnswer(clone);
    return [
      { name: "npm ci", value: (starting - installing) / 1000, unit: "s" },
      { name: "npm start to the first 200", value: (answered - starting) / 1000, unit: "s" },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startUntilAnswer(clone: string): Promise<number> {
  const env = { ...process.env, PORT: port, DATA_DIR: join(clone, ".data") };
  const product = spawn("npm", ["start", "--silent"], { cwd: clone, env, stdio: ["ignore", "ignore", "inherit"] });
  try {
    for (;;) {
      if (product.exitCode !== null) throw new Error(`npm start ended with ${product.exitCode}`);
      if (await isAnswering(clone)) return performance.now();
      await pause(20);
    }
  } finally {
    if (product.exitCode === null) {
      product.kill("SIGTERM");
      await once(product, "exit");
    }
  }
}

async function isAnswering(clone: string): Promise<boolean> {
  try {
    const demo = JSON.parse(await readFile(join(clone, ".data/demo.json"), "utf8"));
    const headers = { authorization: `Bearer ${demo.accounts[0].owner.token}` };
    return (await fetch(`http://127.0.0.1:${port}/v1/public/accounts`, { headers })).status === 200;
  } catch {
    return false;
  }
}
