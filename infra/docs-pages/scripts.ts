import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import type { Plugin } from "esbuild";

import { filesIn, hashOfFiles, lockFile, readCache, writeCache } from "./cache.ts";

const root = resolve(import.meta.dirname, "../..");
const sources = resolve(import.meta.dirname, "../docs");

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

const licenseIn = (path: string): Promise<string> => readFile(join(root, "node_modules", path), "utf8");

async function bundle(entry: string, banner: string, plugins: Plugin[] = []): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(sources, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2022",
    plugins,
    // Each copy of a package must contain the package's license.
    banner: { js: banner },
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * The script of the playground. Its banner has the license of one package only, because CodeMirror, Lezer and their
 * small packages have the same author and the same license.
 */
async function playground(): Promise<string> {
  const license = await licenseIn("@codemirror/state/LICENSE");
  return bundle("playground/page.ts", `/*\nCodeMirror and Lezer\n\n${license}*/`, [grammars]);
}

async function search(): Promise<string> {
  const license = await licenseIn("minisearch/LICENSE.txt");
  return bundle("site/search.ts", `/*\nMiniSearch\n\n${license}*/`);
}

async function bundleAll(): Promise<Record<string, string>> {
  const [playgroundScript, searchScript, site, tryIt, oldLinks] = await Promise.all([
    playground(),
    search(),
    bundle("site/site.ts", ""),
    bundle("site/try.ts", ""),
    bundle("site/old-links.ts", ""),
  ]);
  return {
    "playground.js": playgroundScript,
    "search.js": searchScript,
    "site.js": site,
    "try.js": tryIt,
    "old-links.js": oldLinks,
  };
}

/**
 * The scripts of the site, by file name. Each script contains the packages that it uses. The scripts are cached until a
 * source or a package changes.
 */
export async function scripts(): Promise<Record<string, string>> {
  const folders = await Promise.all([join(sources, "site"), join(sources, "playground")].map(filesIn));
  const hash = await hashOfFiles([...folders.flat(), import.meta.filename, lockFile]);
  const known = await readCache("scripts", hash);
  if (known !== undefined) return known as Record<string, string>;
  const bundled = await bundleAll();
  await writeCache("scripts", hash, bundled);
  return bundled;
}
