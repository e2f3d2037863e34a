import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";

import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";

import { invoiceFontFiles } from "../../shared/billing/invoices/fonts.ts";
import { writeAssets, type Asset } from "../assets.ts";
import { docsAssets, fallbackAssets, missingPageFile } from "../docs-pages/site.ts";
import { type LambdaSpec, lambdas, originAuthorizer, secretRotator, web, workers } from "../entry-points.ts";
import { bundleOnce } from "./bundle-cache.ts";

type BundleEntry = Pick<LambdaSpec, "name" | "file">;

type BundleOptions = {
  format?: "cjs" | "esm";
  /**
   * The places where the SDK looks for credentials: only the environment, as on Lambda, or all places that the SDK
   * knows.
   */
  credentials?: "environment" | "anywhere";
  /** Returns the assets of each Lambda, by the Lambda's name. Called while the code is bundled. */
  assets?: () => Promise<Record<string, readonly Asset[]>>;
  /** Whether the last bundles may be used again if their inputs are the same. */
  isCached?: boolean;
};

const root = resolve(import.meta.dirname, "../..");

const lambdaCredentials = join(root, "infra/build/lambda-credentials.ts");

/**
 * The Lambdas that find files beside their code by `import.meta.url`. Only the bundles of these Lambdas get the value
 * of `import.meta.url`, which takes 2 kB. esbuild warns when another Lambda needs the value.
 */
const usersOfImportMetaUrl = new Set(["billing.invoices.download"]);

const withImportMetaUrl: BuildOptions = {
  inject: [join(root, "infra/build/import-meta-url.ts")],
  define: { "import.meta.url": "importMetaUrl" },
};

/**
 * The AWS SDK's client of DynamoDB, in a separate file beside the bundles. In a bundle, the client would be parsed at
 * every start, but few calls need it. Most calls go through the product's own client, `shared/table/lane.ts`.
 */
const tableSdk = { from: "shared/table/sdk.ts", to: "table-sdk" };

/** Leaves the client of DynamoDB out of the bundles. Makes them load the separate file when they need the client. */
const leaveTableSdkOut: Plugin = {
  name: "table-sdk",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^\.\/sdk\.ts$/ }, ({ importer, kind }) =>
      kind === "dynamic-import" && importer === join(root, "shared/table/client.ts")
        ? { path: `./${tableSdk.to}.js`, external: true }
        : undefined,
    );
  },
};

/**
 * Switches off zod's compiler before the first schema is made. Compiling the schemas of the first request takes 4 ms of
 * a cold start, and makes later requests no faster.
 */
const interpretZod: Plugin = {
  name: "interpreted-zod",
  setup: (bundling) => {
    const namespace = "interpreted-zod";
    bundling.onResolve({ filter: /^zod$/ }, ({ path, namespace: importer }) =>
      importer === namespace ? undefined : { path, namespace },
    );
    bundling.onLoad({ filter: /^zod$/, namespace }, () => ({
      contents: 'import * as z from "zod"; z.config({ jitless: true }); export * from "zod";',
      resolveDir: root,
    }));
  },
};

/**
 * Matches a constant at the top level of a formatted file, if its value is an object, a list or the result of a call.
 * The first group is the declaration up to `=`. The second group is the value, up to the first `;` that ends a line. A
 * `;` does not count if the next line is indented or begins with a closing bracket.
 */
const constantPattern =
  /^((?:export )?const \w+(?:: [^=\n]+)? =)(\s+(?:[{[]|(?:new )?\w[\w.]*(?:[(<]|\n\s+\.))[^]*?);$(?!\n[ \t)}\]])/gm;

/**
 * Lets esbuild leave out constants that a bundle does not use. By itself, esbuild keeps every constant whose value is
 * the result of a call, such as the schema of another route: a call can have a side effect. In this project, these
 * calls have no side effects.
 */
const leaveUnusedOut: Plugin = {
  name: "unused-constants",
  setup: (bundling) => {
    bundling.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (!/^(?:functions|shared)\//.test(relative(root, path))) return undefined;
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll(constantPattern, "$1 /* @__PURE__ */ (() => ($2))();"), loader: "ts" };
    });
  },
};

/**
 * Lets esbuild leave out a package that a bundle imports but does not use. By itself, esbuild keeps the package's
 * tables, because its package.json does not say that its modules have no side effects.
 */
const leavePackagesOut: Plugin = {
  name: "unused-packages",
  setup: (bundling) => {
    bundling.onResolve({ filter: /^(?:tldts|ipaddr\.js)$/ }, async ({ path, pluginData, ...from }) => {
      // `bundling.resolve` calls this function again. The second call leaves the package to esbuild.
      if (pluginData === bundling) return undefined;
      const found = await bundling.resolve(path, { ...from, pluginData: bundling });
      return { ...found, sideEffects: false };
    });
  },
};

/** Defines `require` in an ES module. CommonJS packages call `require`, but ES modules do not have it. */
const withRequire: BuildOptions = {
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
};

/** The folder of the bundles, for `node infra/build/bundle.ts` and for the CDK app. */
export const bundleDir = join(root, "dist/lambda");

/**
 * Bundles Lambdas. Each `<outdir>/<name>/index.js` exports `handler`; Lambda loads `init.mjs` beside it.
 * - Empties `outdir` first.
 * - `<outdir>/meta.json` is esbuild's report of the contents of each bundle.
 * - The same sources give the same bytes.
 */
export async function bundleLambdas(
  specs: readonly BundleEntry[],
  outdir: string,
  options: BundleOptions = {},
): Promise<Metafile> {
  await rm(outdir, { recursive: true, force: true });
  const bundle = (): Promise<Metafile> => bundleCode(specs, outdir, options);
  const [metafile, assets = {}] = await Promise.all([
    options.isCached ? bundleOnce(outdir, [specs, options, relative(root, outdir)], bundle) : bundle(),
    options.assets?.(),
  ]);
  const unknown = Object.keys(assets).filter((name) => !specs.some((spec) => spec.name === name));
  if (unknown.length > 0) throw new Error(`Assets are declared for Lambdas that do not exist: ${unknown.join(", ")}`);
  const packageFile = packageOf[options.format ?? "cjs"];
  const files = specs.map(({ name }) =>
    writeAssets(join(outdir, name), [packageFile, initFile, ...(assets[name] ?? [])]),
  );
  await Promise.all(files);
  return metafile;
}

/** Bundles the code only, without assets. */
async function bundleCode(
  specs: readonly BundleEntry[],
  outdir: string,
  { format = "cjs", credentials = "environment" }: BundleOptions,
): Promise<Metafile> {
  const settings: BuildOptions = {
    outdir,
    format,
    ...(format === "esm" ? withRequire : {}),
    ...(credentials === "environment" ? { alias: { "@aws-sdk/credential-provider-node": lambdaCredentials } } : {}),
  };
  const needsImportMetaUrl = ({ name }: BundleEntry): boolean => format === "cjs" && usersOfImportMetaUrl.has(name);
  const building = Promise.all([
    buildAll(entriesOf(specs.filter((spec) => !needsImportMetaUrl(spec))), settings),
    buildAll(entriesOf(specs.filter(needsImportMetaUrl)), { ...settings, ...withImportMetaUrl }),
  ]);
  const [metafiles, sdk] = await Promise.all([building, buildAll([{ in: tableSdk.from, out: tableSdk.to }], settings)]);
  const metafile: Metafile = {
    inputs: Object.assign({}, ...metafiles.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)),
  };
  await shareTableSdk(outdir, metafile, sdk);
  await writeFile(join(outdir, "meta.json"), JSON.stringify(metafile));
  return metafile;
}

type Entries = { in: string; out: string }[];

const entriesOf = (specs: readonly BundleEntry[]): Entries =>
  specs.map(({ name, file }) => ({ in: file, out: `${name}/index` }));

/** Copies the table's SDK beside every bundle that may load it, and adds the SDK's inputs to the report. */
async function shareTableSdk(outdir: string, metafile: Metafile, sdk: Metafile): Promise<void> {
  const [built] = Object.keys(sdk.outputs);
  if (built === undefined) throw new Error("The table's SDK was not built");
  const file = `${tableSdk.to}.js`;
  const importing = Object.entries(metafile.outputs).filter(([, { imports }]) =>
    imports.some(({ path }) => path === `./${file}`),
  );
  Object.assign(metafile.inputs, sdk.inputs);
  await Promise.all(importing.map(([path]) => copyFile(join(root, built), join(root, path, "..", file))));
  await rm(join(outdir, file));
}

/** Runs esbuild once. */
async function buildAll(entryPoints: Entries, settings: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({
    ...settings,
    absWorkingDir: root,
    entryPoints,
    plugins: [leaveTableSdkOut, interpretZod, leaveUnusedOut, leavePackagesOut],
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    // esbuild can remove unused code from the SDK's ES modules, but not from its CommonJS modules.
    mainFields: ["module", "main"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  return metafile;
}

/**
 * The package.json of a bundle, which names its module type. Without this file, Node takes the type from the project's
 * package.json on this machine, and guesses the type on Lambda.
 */
const packageOf: Record<"cjs" | "esm", Asset> = {
  cjs: { to: "package.json", content: '{"type":"commonjs"}' },
  esm: { to: "package.json", content: '{"type":"module"}' },
};

/**
 * The module that Lambda loads. If the handler has a function `prime`, the module waits for it. `prime` prepares the
 * handler for its first request, and ends before Lambda's init phase ends. Only an ES module can wait here. The module
 * loads the code with `require`, because an `import` of CommonJS first searches the whole text for the names of
 * exports.
 */
const initFile: Asset = {
  to: "init.mjs",
  content: `import { createRequire } from "node:module";
export const { handler } = createRequire(import.meta.url)("./index.js");
await handler.prime?.();
`,
};

/** The fonts of invoices, at the paths where Node finds them from a bundle as well as from the project. */
export const invoiceAssets: readonly Asset[] = Object.values(invoiceFontFiles).map((font) => ({
  to: `node_modules/${font}`,
  from: `node_modules/${font}`,
}));

/** The files beside the product's Lambdas and workers, by the name of the function. */
export async function productAssets(): Promise<Record<string, readonly Asset[]>> {
  const docs = await docsAssets();
  return {
    docs,
    fallback: [...fallbackAssets(lambdas), ...docs.filter(({ to }) => to === missingPageFile)],
    "billing.invoices.download": invoiceAssets,
  };
}

/**
 * Bundles the product's Lambdas and workers, with the files beside them, into `bundleDir`. The bundles of the last call
 * are used again if their inputs are the same.
 */
export const bundleProduct = (): Promise<Metafile> =>
  bundleLambdas([...lambdas, ...workers, originAuthorizer, secretRotator, web], bundleDir, {
    assets: productAssets,
    isCached: true,
  });

if (import.meta.main) await bundleProduct();
