import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { build, type BuildOptions } from "esbuild";

import { routes } from "../../functions/routes.ts";
import { eventTypes } from "../../shared/webhooks/event-types.ts";
import { openApiDocument } from "../openapi/document.ts";
import { type Document, type EventType, type Schema, functionsOf, functionsSource, typesSource } from "./emit.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(import.meta.dirname, "package");

/** The folder to which `npm run client` writes the package. `#client` imports the package from there. */
export const clientFolder = join(root, "dist/client");

/** The file in a package with the hash of the sources. */
export const sourceHashFile = "generated-from.txt";

const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  lib: ["es2022", "dom", "dom.iterable"],
  types: [],
  strict: true,
  declaration: true,
  emitDeclarationOnly: true,
  rewriteRelativeImportExtensions: true,
  rootDir: "src",
  outDir: ".",
};

/** The event types, each with the schema of its data. */
function eventTypesOf({ components: { schemas } }: Document): EventType[] {
  const own = eventTypes().map(({ type, view }) => {
    const { id } = view.meta() ?? {};
    const data = id !== undefined && id in schemas ? id : (view.toJSONSchema({ io: "output" }) as Schema);
    return { type, resource: type.slice(0, type.lastIndexOf(".")), data };
  });
  return [...own, { type: "webhook.test", resource: "webhook", data: "Record<string, unknown>" }];
}

/**
 * The inputs of the generated packages: the OpenAPI document, and whether a function takes a `payload` in code mode.
 */
export type Api = { document: Document; isPayload: (name: string) => boolean };

export function readApi(): Api {
  const payloads = new Set(routes.filter((one) => one.codeMode.arguments === "payload").map(({ name }) => name));
  return { document: openApiDocument() as Document, isPayload: (name) => payloads.has(name) };
}

/** The generated sources, by file name. */
function generatedSources({ document, isPayload }: Api): Record<string, string> {
  const functions = functionsOf(document, isPayload);
  return {
    "types.ts": typesSource(document, functions, eventTypesOf(document)),
    "functions.ts": functionsSource(document, functions),
  };
}

/** Writes the types of the package, for CommonJS and for ES modules. */
async function writeTypes(folder: string): Promise<void> {
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["src"], exclude: [] }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  try {
    await promisify(execFile)(process.execPath, [tsc, "-p", folder]);
  } catch (error) {
    throw new Error(`The client does not compile:\n${(error as { stdout?: string }).stdout}`, { cause: error });
  }
  for (const file of await readdir(folder, { recursive: true })) {
    if (file.endsWith(".d.ts") && !file.startsWith("src")) await renameImports(join(folder, file));
  }
  await writeFile(join(folder, "index.d.mts"), 'export * from "./index.js";\n');
  await rm(join(folder, "tsconfig.json"));
}

/** Makes the imports of a type file end in `.js`. Every version of TypeScript can read these imports. */
async function renameImports(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replaceAll(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
}

/** Writes the bundled code of the package: one file for CommonJS and one for ES modules. */
async function writePrograms(folder: string): Promise<void> {
  const common: BuildOptions = {
    entryPoints: [join(folder, "src/index.ts")],
    bundle: true,
    target: "es2022",
    charset: "utf8",
    platform: "neutral",
    // Without this setting esbuild would read the file that `writeTypes` is writing.
    tsconfigRaw: {},
  };
  await build({ ...common, format: "esm", outfile: join(folder, "index.mjs") });
  await build({ ...common, format: "cjs", outfile: join(folder, "index.js") });
}

const manifest = (version: string): object => ({
  name: "@hosted-mail/client",
  version,
  description: "A typed client for the Hosted Mail API",
  license: "MIT",
  keywords: ["email", "mailboxes", "dns", "domains", "api-client"],
  type: "commonjs",
  sideEffects: false,
  engines: { node: ">=20" },
  main: "./index.js",
  module: "./index.mjs",
  types: "./index.d.ts",
  exports: {
    ".": {
      import: { types: "./index.d.mts", default: "./index.mjs" },
      require: { types: "./index.d.ts", default: "./index.js" },
    },
    "./package.json": "./package.json",
  },
  publishConfig: { access: "public" },
});

/** Writes generated sources into `folder`. Leaves a file untouched if its text is the same. */
export async function writeSources(folder: string, sources: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(sources)) {
    const file = join(folder, name);
    if ((await readFile(file, "utf8").catch(() => "")) === text) continue;
    await writeFile(`${file}.${process.pid}`, text);
    await rename(`${file}.${process.pid}`, file);
  }
}

/** The version of the product, which is also the version of the packages. */
export async function productVersion(): Promise<string> {
  return (JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string }).version;
}

/** A package: its package.json, the folder of its sources and its README, and everything else that it is made from. */
type Package = { manifest: object; source: string; inputs: readonly (string | Buffer)[] };

/** A hash of all sources of a package. */
async function sourceHash({ manifest, source, inputs }: Package): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(manifest));
  const common = ["package-lock.json", "LICENSE"].map((name) => readFile(join(root, name)));
  for (const input of [...inputs, ...(await Promise.all(common))]) hash.update(input);
  for (const entry of (await readdir(source, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.isFile()) hash.update(entry.name).update(await readFile(join(source, entry.name)));
  }
  return hash.digest("hex");
}

/**
 * Writes a package into `folder`, and replaces the whole folder. `fill` adds the package's files to a new folder.
 * Changes nothing and returns false if `folder` already has a package of the same sources.
 */
export async function writePackage(
  folder: string,
  parts: Package,
  fill: (staging: string) => Promise<void>,
): Promise<boolean> {
  const hash = await sourceHash(parts);
  if ((await readFile(join(folder, sourceHashFile), "utf8").catch(() => "")) === hash) return false;
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(staging, "package.json"), `${JSON.stringify(parts.manifest, null, 2)}\n`);
    await fill(staging);
    await cp(join(parts.source, "README.md"), join(staging, "README.md"));
    await cp(join(root, "LICENSE"), join(staging, "LICENSE"));
    await writeFile(join(staging, sourceHashFile), hash);
    await chmod(staging, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(staging, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return true;
}

/**
 * Writes the generated sources beside the other sources of the client. Then writes the typed client as a compiled
 * package into `folder`, and replaces the whole folder. If `folder` already has a package of the same sources, leaves
 * `folder` unchanged and returns false.
 */
export async function generateClient(folder: string, api: Api = readApi()): Promise<boolean> {
  const sources = generatedSources(api);
  await writeSources(join(source, "generated"), sources);
  const inputs = [JSON.stringify(sources), await readFile(import.meta.filename)];
  return writePackage(folder, { manifest: manifest(await productVersion()), source, inputs }, async (staging) => {
    await cp(source, join(staging, "src"), { recursive: true });
    await Promise.all([writeTypes(staging), writePrograms(staging)]);
    await rm(join(staging, "src"), { recursive: true });
  });
}
