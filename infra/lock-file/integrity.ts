import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";

/** An entry of `packages` in package-lock.json, with only the members that this code uses. */
type LockEntry = { version?: string; integrity?: string; link?: boolean; inBundle?: boolean };

export type LockFile = { packages: Record<string, LockEntry> };

/** The name of the package at a path in the tree, such as `node_modules/a/node_modules/@b/c`. */
const nameAt = (path: string): string => path.split("node_modules/").at(-1) ?? path;

/** The paths of the packages that npm installs from the registry without checking a hash. */
export const withoutIntegrity = ({ packages }: LockFile): string[] =>
  Object.entries(packages)
    .filter(([path, { integrity, link, inBundle }]) => {
      const isFromRegistry = path.includes("node_modules/") && link !== true && inBundle !== true;
      return isFromRegistry && integrity === undefined;
    })
    .map(([path]) => path);

/**
 * Adds missing hashes to a lock file. Versions and existing hashes do not change. `lookUp` returns the hash of a
 * package, or undefined for an unknown package. `unknown` lists the unknown packages.
 */
export async function addIntegrity<L extends LockFile>(
  lock: L,
  lookUp: (name: string, version: string) => Promise<string | undefined>,
): Promise<{ lock: L; unknown: string[] }> {
  const packages = { ...lock.packages };
  const unknown: string[] = [];
  for (const path of withoutIntegrity(lock)) {
    const { version = "", ...rest } = packages[path] ?? {};
    const integrity = await lookUp(nameAt(path), version);
    if (integrity === undefined) unknown.push(`${nameAt(path)}@${version}`);
    else packages[path] = { version, integrity, ...rest };
  }
  return { lock: { ...lock, packages }, unknown };
}

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

if (import.meta.main) {
  const file = resolve(import.meta.dirname, "../../package-lock.json");
  const { lock, unknown } = await addIntegrity(JSON.parse(await readFile(file, "utf8")) as LockFile, registryHash);
  await writeFile(file, `${JSON.stringify(lock, undefined, 2)}\n`);
  for (const one of unknown) process.stdout.write(`The registry does not have ${one}.\n`);
}
