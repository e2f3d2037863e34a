import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, "node_modules/.cache/docs-site");

/** The lock file. Hash it with the other inputs of a cached value, so that new package versions give a new value. */
export const lockFile = join(root, "package-lock.json");

/** All files in a folder and its subfolders. */
export async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Hashes texts, and the names and contents of files. */
export async function hashOfFiles(files: readonly string[], ...texts: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text.length}\0`).update(text);
  const names = [...new Set(files)].toSorted();
  const contents = await Promise.all(names.map((file) => readFile(file)));
  for (const [index, content] of contents.entries())
    hash.update(`${names[index]}\0${content.length}\0`).update(content);
  return hash.digest("hex");
}

/** Returns the cached value of a name for inputs with this hash. Undefined if there is no such value. */
export async function readCache(name: string, hash: string): Promise<unknown> {
  const text = await readFile(join(folder, `${name}-${hash}.json`), "utf8").catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * Caches a value under a name for inputs with this hash. Deletes the values of the name for other inputs. Ignores
 * errors of the file system.
 */
export async function writeCache(name: string, hash: string, value: unknown): Promise<void> {
  const file = `${name}-${hash}.json`;
  // The value is first written to another file. So no other process can read half of the value.
  const unfinished = join(folder, `${file}.${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(unfinished, JSON.stringify(value));
    await rename(unfinished, join(folder, file));
    const old = (await readdir(folder)).filter((other) => other.startsWith(`${name}-`) && other !== file);
    await Promise.all(old.map((other) => rm(join(folder, other), { force: true })));
  } catch {
    // The caller still has the value.
  }
}
