import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import type { Plugin } from "esbuild";

const root = resolve(import.meta.dirname, "../..");
const sources = resolve(import.meta.dirname, "../docs/playground");
const cacheFolder = join(root, "node_modules/.cache/playground");

/** Generates the two modules of a Lezer grammar: the parser (`x.grammar`) and its token numbers (`x.grammar.terms`). */
const grammars: Plugin = {
  name: "grammars",
  async setup(build) {
    const { buildParserFile } = await import("@lezer/generator");
    build.onResolve({ filter: /\.grammar(\.terms)?$/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.replace(/\.terms$/, "")),
      namespace: path.endsWith(".terms") ? "terms" : "parser",
    }));
    const generated = new Map<string, ReturnType<typeof buildParserFile>>();
    const generate = (file: string) => {
      const modules = generated.get(file) ?? buildParserFile(readFileSync(file, "utf8"), { fileName: file });
      generated.set(file, modules);
      return modules;
    };
    for (const namespace of ["parser", "terms"] as const) {
      build.onLoad({ filter: /\.grammar$/, namespace }, ({ path }) => ({
        contents: generate(path)[namespace],
        resolveDir: dirname(path),
      }));
    }
  },
};

async function bundle(): Promise<string> {
  const { build } = await import("esbuild");
  const license = await readFile(join(root, "node_modules/@codemirror/state/LICENSE"), "utf8");
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(sources, "page.ts")],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2022",
    plugins: [grammars],
    // CodeMirror, Lezer and their small packages share one author and one license, which must accompany every copy.
    banner: { js: `/*\nCodeMirror and Lezer\n\n${license}*/` },
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles[0]?.text ?? "";
}

/** Hashes the inputs of the bundle: the page's sources, this file, and the lock file. */
async function hashOfInputs(): Promise<string> {
  const names = (await readdir(sources)).toSorted().map((name) => join(sources, name));
  const hash = createHash("sha256");
  for (const file of [...names, import.meta.filename, join(root, "package-lock.json")]) {
    hash.update(`${file}\0`).update(await readFile(file));
  }
  return hash.digest("hex");
}

/** Replaces the cached bundle. If the cache cannot be written, every start bundles again. */
async function keep(cached: string, script: string): Promise<void> {
  // The bundle is first written under another name, so that no other process reads half a file.
  const unfinished = `${cached}.${process.pid}`;
  try {
    await rm(cacheFolder, { recursive: true, force: true });
    await mkdir(cacheFolder, { recursive: true });
    await writeFile(unfinished, script);
    await rename(unfinished, cached);
  } catch {
    // The caller still has the bundle in memory.
  }
}

/**
 * Builds the playground's script, with CodeMirror, the language of code mode and the page in one file. The result is
 * cached in `node_modules/.cache` until a source changes.
 */
export async function playgroundScript(): Promise<string> {
  const cached = join(cacheFolder, `${await hashOfInputs()}.js`);
  const known = await readFile(cached, "utf8").catch(() => undefined);
  if (known !== undefined) return known;
  const script = await bundle();
  await keep(cached, script);
  return script;
}
