import { createHash, type Hash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

import { version, type Metafile } from "esbuild";

/**
 * The folders and files of this project on which a bundle can depend: the sources, the bundling code, the settings of
 * TypeScript, and the lists of installed packages.
 */
const ownFolders = ["functions", "shared", "infra"];
const ownFiles = ["package.json", "package-lock.json", "node_modules/.package-lock.json", "tsconfig.json"];

const isOwn = (path: string): boolean => ownFolders.some((folder) => path.startsWith(`${folder}/`));

/**
 * Adds the path, the length and the content of a file to a hash. For a missing file, adds only the path and the word
 * `missing`.
 */
async function addFile(hash: Hash, root: string, path: string): Promise<void> {
  const content = await readFile(join(root, path)).catch(() => undefined);
  hash.update(`${path}\0${content?.length ?? "missing"}\0`).update(content ?? "");
}

/**
 * Hashes esbuild's version, the `options`, and the paths and contents of this project's files. Leaves out every
 * `node_modules` inside the project's folders, because no bundle contains these packages.
 */
async function hashOfProject(root: string, options: unknown): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([version, options]));
  for (const path of ownFiles) await addFile(hash, root, path);
  for (const folder of ownFolders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const own = files.map((file) => relative(root, file)).filter((path) => !path.includes("node_modules"));
    for (const path of own.toSorted()) await addFile(hash, root, path);
  }
  return hash.digest("hex");
}

/**
 * The `package.json` of the package to which a file belongs. This `package.json` decides which file an import of the
 * package loads.
 */
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
const ownPaths = { root: ownRoot, cache: join(ownRoot, "node_modules/.cache/lambda") };

/**
 * The inputs of the cached bundles: a hash of the project, a hash of the packages' files, and the paths of the
 * packages' files.
 */
type CachedInputs = { project: string; packages: string; inputs: string[] };

/**
 * Fills the empty folder `outdir` with bundles and their report `meta.json`. If the inputs are the same as at the last
 * call, copies the bundles of the last call. If not, calls `bundle`. The inputs are the files of this project, the
 * package files in the bundles, esbuild's version and the `options`. The folder `cache` keeps the bundles of the last
 * call.
 */
export async function bundleOnce(
  outdir: string,
  options: unknown,
  bundle: () => Promise<Metafile>,
  { root, cache } = ownPaths,
): Promise<Metafile> {
  const project = await hashOfProject(root, options);
  const cached = await readFile(join(cache, "made.json"), "utf8")
    .then((text) => JSON.parse(text) as CachedInputs)
    .catch(() => undefined);
  if (cached?.project === project && cached.packages === (await hashOfPackages(root, cached.inputs))) {
    await cp(join(cache, "files"), outdir, { recursive: true });
    return JSON.parse(await readFile(join(outdir, "meta.json"), "utf8")) as Metafile;
  }
  const metafile = await bundle();
  const inputs = Object.keys(metafile.inputs).filter((path) => !isOwn(path));
  const inputsNow = { project, packages: await hashOfPackages(root, inputs), inputs };
  // If a file changed during bundling, the bundles may contain different versions of the file. In this case, the
  // bundles are not cached.
  if ((await hashOfProject(root, options)) === project) await storeInCache(cache, outdir, inputsNow);
  return metafile;
}

/** Replaces the cached bundles. If the cache cannot be written, the new bundles are not cached. */
async function storeInCache(cache: string, outdir: string, inputs: CachedInputs): Promise<void> {
  const unfinished = `${cache}.${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    await cp(outdir, join(unfinished, "files"), { recursive: true });
    await writeFile(join(unfinished, "made.json"), JSON.stringify(inputs));
    await rm(cache, { recursive: true, force: true });
    await rename(unfinished, cache);
  } catch {
    await rm(unfinished, { recursive: true, force: true });
  }
}
