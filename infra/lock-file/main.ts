import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";

import { addIntegrity, type LockFile } from "./integrity.ts";

const file = resolve(import.meta.dirname, "../../package-lock.json");

/** The hash of a package in npm's registry. Undefined if the registry does not have the package. */
async function registryHash(name: string, version: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("npm", ["view", `${name}@${version}`, "dist.integrity"]);
    return stdout.trim() === "" ? undefined : stdout.trim();
  } catch (error) {
    if (error instanceof Error && error.message.includes("E404")) return undefined;
    throw error;
  }
}

const { lock, unknown } = await addIntegrity(JSON.parse(await readFile(file, "utf8")) as LockFile, registryHash);
await writeFile(file, `${JSON.stringify(lock, undefined, 2)}\n`);
for (const one of unknown) process.stdout.write(`The registry does not have ${one}.\n`);
