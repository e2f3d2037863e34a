import { spawn } from "node:child_process";
import { on, once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { Demo } from "../../infra/local/seed/demo.ts";
import { root } from "./harness.ts";

/**
 * Starts `npm start` in a checkout, with its data in `dataDir`, and waits for the first 200. Returns the URL, the demo
 * accounts, the process id, and a function for reports. The process ends when the variable goes out of scope. Throws if
 * the product does not start.
 */
export async function startProduct(dataDir: string, env: Record<string, string> = {}, checkout = root) {
  const child = spawn("npm", ["start", "--silent"], {
    cwd: checkout,
    env: { ...process.env, PORT: "0", DNS_PORT: "0", DATA_DIR: dataDir, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const lines = createInterface(child.stderr);
  lines.on("line", (line) => process.stderr.write(`  ${line}\n`));
  let banner = "";
  child.stdout.on("data", (text) => (banner += String(text)));
  while (!banner.includes("Ctrl-C") && child.exitCode === null) await Promise.race([once(child.stdout, "data"), ended]);
  const baseUrl = /runs at (\S+)/.exec(banner)?.[1] ?? "";
  const demo = JSON.parse(await readFile(join(dataDir, "demo.json"), "utf8")) as Demo;
  const headers = { authorization: `Bearer ${demo.accounts[0]?.owner.token}` };
  const { status } = await fetch(`${baseUrl}/v1/public/accounts`, { headers });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  if (status !== 200) {
    await stop();
    throw new Error(`the product answers ${status}`);
  }
  // The process of the product, which is a child of npm, writes its own id into this file.
  const { pid } = JSON.parse(await readFile(join(dataDir, "engine.json"), "utf8")) as { pid: number };
  /**
   * Sends a signal to the process. Its preloaded module then writes a line. Returns the match of the pattern in that
   * line.
   */
  const report = async (pattern: RegExp): Promise<RegExpExecArray> => {
    process.kill(pid, "SIGUSR2");
    for await (const [line] of on(lines, "line")) {
      const found = pattern.exec(line as string);
      if (found) return found;
    }
    throw new Error("the product reports nothing");
  };
  return { baseUrl, demo, pid, report, [Symbol.asyncDispose]: stop };
}
