import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { openApiDocument } from "../openapi/document.ts";
import { lendTypescript6 } from "./own-typescript.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(import.meta.dirname, "package");

/** The folder to which `npm run client` writes the package, and in which `#client` finds it. */
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

/** A hash of everything that the package is generated from; an equal hash means an equal package. */
async function wordOf(document: string, version: string): Promise<string> {
  const hash = createHash("sha256").update(document).update(version);
  hash.update(await readFile(import.meta.filename)).update(await readFile(join(root, "package-lock.json")));
  for (const name of (await readdir(source)).toSorted()) hash.update(name).update(await readFile(join(source, name)));
  return hash.digest("hex");
}

async function generateSource(document: string, folder: string): Promise<void> {
  const input = join(folder, "openapi.json");
  await writeFile(input, document);
  const giveBack = lendTypescript6();
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
    giveBack();
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
  description: "The hosted-mail API, typed",
  license: "MIT",
  type: "module",
  sideEffects: false,
  engines: { node: ">=20" },
  exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  types: "./index.d.ts",
});

/**
 * Writes the typed client as a compiled package into `folder`, and replaces the whole folder. Answers false when the
 * folder already has the package generated from the same sources.
 */
export async function generateClient(folder: string): Promise<boolean> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const document = JSON.stringify(openApiDocument());
  const word = await wordOf(document, version);
  if ((await readFile(join(folder, stamp), "utf8").catch(() => "")) === word) return false;
  await mkdir(dirname(folder), { recursive: true });
  const made = await mkdtemp(`${folder}-`);
  try {
    // The compiler reads there that these files are ES modules.
    await writeFile(join(made, "package.json"), `${JSON.stringify(manifest(version), null, 2)}\n`);
    await generateSource(document, made);
    await compile(made);
    await cp(join(source, "README.md"), join(made, "README.md"));
    await cp(join(root, "LICENSE"), join(made, "LICENSE"));
    await writeFile(join(made, stamp), word);
    await chmod(made, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(made, folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return true;
}
