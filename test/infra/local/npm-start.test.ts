import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { newFolder } from "../../support/folder.ts";

const project = resolve(import.meta.dirname, "../../..");

test("SIGTERM to npm start stops the product and its engine, not only npm", async () => {
  const dataDir = newFolder();
  const { PATH, HOME } = process.env;
  const product = spawn("npm", ["start"], {
    cwd: project,
    env: { PATH, HOME, PORT: "0", DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  product.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  while (!printed.includes("Ctrl-C")) await once(product.stdout, "data");
  const { pid } = JSON.parse(await readFile(join(dataDir, "engine.json"), "utf8")) as { pid: number };
  product.kill("SIGTERM");
  // Standard output ends once no process holds it any more.
  await once(product, "close");
  expect(printed).toContain("Stopping.");
  expect(product.exitCode).toBe(0);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
