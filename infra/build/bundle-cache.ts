import { createHash, type Hash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

import { version, type Metafile } from "esbuild";

/** Everything of this project that a bundle may depend on: the sources, the code that bundles, and what is installed. */
const ownFolders = ["functions", "shared", "infra"];
const ownFiles = ["package.json", "package-lock.json", "node_modules/.package-lock.json", "tsconfig.json"];

const isOwn = (path: string): boolean => ownFolders.some((folder) => path.startsWith(`${folder}/`));

async function addFile(hash: Hash, root: string, path: string): Promise<void> {
  const content = await readFile(join(root, path)).catch(() => undefined);
  hash.update(`${path}\0${content?.length ?? "missing"}\0`).update(content ?? "");
}

/** Hashes the names and contents of this project's files. */
async function hashOfProject(root: string, options: unknown): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([version, options]));
  for (const path of ownFiles) await addFile(hash, root, path);
  for (const folder of ownFolders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    for (const path of files.map((file) => relative(root, file)).toSorted()) await addFile(hash, root, path);
  }
  return hash.digest("hex");
}

/** The `package.json` of the package that has a file: it decides which file an import means. */
function packageFileOf(root: string, path: string): string | undefined {
  for (let folder = dirname(path); folder.includes("node_modules"); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(join(root, file))) return file;
  }
  return undefined;
}

/** Hashes files of packages, each with the `package.json` of its package. */
async function hashOfPackages(root: string, inputs: readonly string[]): Promise<string> {
  const files = new Set(inputs.flatMap((path) => [path, packageFileOf(root, path) ?? path]));
  const hash = createHash("sha256");
  for (const path of [...files].toSorted()) await addFile(hash, root, path);
  return hash.digest("hex");
}

const ownRoot = resolve(import.meta.dirname, "../..");
const ownPlaces = { root: ownRoot, cache: join(ownRoot, "node_modules/.cache/lambda") };

/** What a kept bundling was made of. */
type Made = { project: string; packages: string; inputs: string[] };

/**
 * Bundles into the empty folder `outdir` with `bundle`, or copies what the last call made of the same inputs: the files of
 * this project, the files of packages in the bundles, esbuild's version and the `options`. `bundle` writes its report to
 * `meta.json`. Keeps one bundling, in the folder `cache`.
 */
export async function bundleOnce(
  outdir: string,
  options: unknown,
  bundle: () => Promise<Metafile>,
  { root, cache } = ownPlaces,
): Promise<Metafile> {
  const project = await hashOfProject(root, options);
  const made = await readFile(join(cache, "made.json"), "utf8")
    .then((text) => JSON.parse(text) as Made)
    .catch(() => undefined);
  if (made?.project === project && made.packages === (await hashOfPackages(root, made.inputs))) {
    await cp(join(cache, "files"), outdir, { recursive: true });
    return JSON.parse(await readFile(join(outdir, "meta.json"), "utf8")) as Metafile;
  }
  const metafile = await bundle();
  const inputs = Object.keys(metafile.inputs).filter((path) => !isOwn(path));
  const kept = { project, packages: await hashOfPackages(root, inputs), inputs };
  // A file that changed meanwhile may be in some bundles and not in others.
  if ((await hashOfProject(root, options)) === project) await keep(cache, outdir, kept);
  return metafile;
}

/** Replaces the cached bundles. If the cache cannot be written, nothing is cached, and every call bundles. */
async function keep(cache: string, outdir: string, made: Made): Promise<void> {
  const unfinished = `${cache}.${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    await cp(outdir, join(unfinished, "files"), { recursive: true });
    await writeFile(join(unfinished, "made.json"), JSON.stringify(made));
    await rm(cache, { recursive: true, force: true });
    await rename(unfinished, cache);
  } catch {
    await rm(unfinished, { recursive: true, force: true });
  }
}
