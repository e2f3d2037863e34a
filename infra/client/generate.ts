import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { createRequire, registerHooks } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { readWords } from "../openapi/command-line.ts";
import { openApiDocument } from "../openapi/document.ts";

const typescript6 = createRequire(join(import.meta.dirname, "typescript-6/package.json")).resolve("typescript");

/**
 * Makes the generator import TypeScript 6, because the generator needs the compiler's API, which TypeScript 7 does not
 * have. The returned function ends this.
 */
function useTypescript6(): () => void {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" ? next(pathToFileURL(typescript6).href, context) : next(specifier, context),
  });
  return () => hooks.deregister();
}

const root = resolve(import.meta.dirname, "../..");
const source = join(import.meta.dirname, "package");

/** The folder to which `npm run client` writes the package. `#client` imports the package from there. */
export const clientFolder = join(root, "dist/client");

const stamp = "generated-from.txt";

const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  lib: ["es2022", "dom", "dom.iterable"],
  types: [],
  strict: true,
  declaration: true,
  rewriteRelativeImportExtensions: true,
  skipLibCheck: true,
  rootDir: "src",
  outDir: ".",
};

/** A hash of everything that the package is generated from. Equal hashes mean equal packages. */
async function sourceHash(document: string, version: string): Promise<string> {
  const hash = createHash("sha256").update(document).update(version);
  hash.update(await readFile(import.meta.filename)).update(await readFile(join(root, "package-lock.json")));
  for (const name of (await readdir(source)).toSorted()) hash.update(name).update(await readFile(join(source, name)));
  return hash.digest("hex");
}

async function generateSource(document: string, folder: string): Promise<void> {
  const input = join(folder, "openapi.json");
  await writeFile(input, document);
  const restoreTypescript = useTypescript6();
  try {
    const { createClient } = await import("@hey-api/openapi-ts");
    await createClient({
      input,
      output: { path: join(folder, "src/generated"), module: { extension: ".js" } },
      logs: { level: "silent" },
      plugins: [
        { name: "@hey-api/client-fetch", throwOnError: true },
        "@hey-api/typescript",
        {
          name: "@hey-api/sdk",
          // The functions keep the names that they have in the API.
          operations: {
            strategy: "single",
            containerName: "HostedMail",
            methodName: { casing: "preserve" },
            segmentName: { casing: "preserve" },
          },
        },
      ],
    });
  } finally {
    restoreTypescript();
  }
  for (const name of await readdir(source)) {
    if (/\.(?:ts|txt)$/.test(name)) await cp(join(source, name), join(folder, "src", name.replace(/\.txt$/, ".ts")));
  }
}

async function compile(folder: string): Promise<void> {
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"], exclude: [] }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  await promisify(execFile)(process.execPath, [tsc, "-p", folder]);
  for (const name of ["src", "tsconfig.json", "openapi.json"]) await rm(join(folder, name), { recursive: true });
}

const manifest = (version: string): object => ({
  name: "hosted-mail-client",
  version,
  description: "A typed client for the hosted-mail API",
  license: "MIT",
  type: "module",
  sideEffects: false,
  engines: { node: ">=20" },
  exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  types: "./index.d.ts",
});

/**
 * Writes the typed client as a compiled package into `folder`, and replaces the whole folder. Returns false if the
 * folder already has the package of the same sources.
 */
export async function generateClient(folder: string): Promise<boolean> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const document = JSON.stringify(openApiDocument());
  const hash = await sourceHash(document, version);
  if ((await readFile(join(folder, stamp), "utf8").catch(() => "")) === hash) return false;
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(`${folder}-`);
  try {
    // The compiler needs this file to see that the sources are ES modules.
    await writeFile(join(staging, "package.json"), `${JSON.stringify(manifest(version), null, 2)}\n`);
    await generateSource(document, staging);
    await compile(staging);
    await cp(join(source, "README.md"), join(staging, "README.md"));
    await cp(join(root, "LICENSE"), join(staging, "LICENSE"));
    await writeFile(join(staging, stamp), hash);
    await chmod(staging, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(staging, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return true;
}

if (import.meta.main) {
  readWords("Usage: npm run client\n\nWrites the TypeScript client to dist/client.");
  const isNew = await generateClient(clientFolder);
  process.stdout.write(`${clientFolder}${isNew ? "" : " (unchanged)"}\n`);
}
