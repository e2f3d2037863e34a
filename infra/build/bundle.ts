import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { build, type BuildOptions, type Metafile } from "esbuild";

import { invoiceFontFiles } from "../../shared/billing/invoice-fonts.ts";
import { writeAssets, type Asset } from "../assets.ts";
import { docsAssets, fallbackAssets } from "../docs-pages/site.ts";
import { type LambdaSpec, lambdas, originAuthorizer, workers } from "../entry-points.ts";

type Entry = Pick<LambdaSpec, "name" | "file">;

type BundleOptions = {
  format?: "cjs" | "esm";
  /** Where the SDK finds credentials: in Lambda's environment only, or anywhere that a machine may have them. */
  credentials?: "environment" | "anywhere";
  /** The assets by the name of their Lambda; called while esbuild works. */
  assets?: () => Promise<Record<string, readonly Asset[]>>;
};

const root = resolve(import.meta.dirname, "../..");

const lambdaCredentials = join(root, "infra/build/lambda-credentials.ts");

/**
 * The Lambdas that find files beside their code by `import.meta.url`. The support would add 2 kB to every bundle;
 * esbuild warns when another Lambda needs it.
 */
const usesImportMetaUrl = new Set(["billing.invoices.download"]);

const withImportMetaUrl: BuildOptions = {
  inject: [join(root, "infra/build/import-meta-url.ts")],
  define: { "import.meta.url": "importMetaUrl" },
};

/** The folder of the bundles, for `node infra/build/bundle.ts` and for the CDK app. */
export const bundleDir = join(root, "dist/lambda");

/**
 * Bundles Lambdas: `<outdir>/<name>/index.js` exports `handler` and needs nothing else.
 * - Empties `outdir` first.
 * - `<outdir>/meta.json` is esbuild's report of the contents of each bundle.
 * - The same sources give the same bytes.
 */
export async function bundleLambdas(
  specs: readonly Entry[],
  outdir: string,
  options: BundleOptions = {},
): Promise<Metafile> {
  const { format = "cjs", credentials = "environment" } = options;
  await rm(outdir, { recursive: true, force: true });
  const settings: BuildOptions = {
    outdir,
    format,
    ...(credentials === "environment" ? { alias: { "@aws-sdk/credential-provider-node": lambdaCredentials } } : {}),
  };
  const isLocated = ({ name }: Entry): boolean => format === "cjs" && usesImportMetaUrl.has(name);
  const building = Promise.all([
    buildAll(
      specs.filter((spec) => !isLocated(spec)),
      settings,
    ),
    buildAll(specs.filter(isLocated), { ...settings, ...withImportMetaUrl }),
  ]);
  const [metafiles, assets = {}] = await Promise.all([building, options.assets?.()]);
  const unknown = Object.keys(assets).filter((name) => !specs.some((spec) => spec.name === name));
  if (unknown.length > 0) throw new Error(`There are files for Lambdas that do not exist: ${unknown.join(", ")}`);
  const metafile: Metafile = {
    inputs: Object.assign({}, ...metafiles.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)),
  };
  await writeFile(join(outdir, "meta.json"), JSON.stringify(metafile));
  const files = specs.map(({ name }) => writeAssets(join(outdir, name), [packageOf[format], ...(assets[name] ?? [])]));
  await Promise.all(files);
  return metafile;
}

/** Runs esbuild once. */
async function buildAll(specs: readonly Entry[], settings: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({
    ...settings,
    absWorkingDir: root,
    entryPoints: specs.map(({ name, file }) => ({ in: file, out: `${name}/index` })),
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
 * The package.json of a bundle. Without it Node would take the module type from the project's package.json here, and
 * guess it on Lambda.
 */
const packageOf: Record<"cjs" | "esm", Asset> = {
  cjs: { to: "package.json", content: '{"type":"commonjs"}' },
  esm: { to: "package.json", content: '{"type":"module"}' },
};

/** The fonts of invoices, at the paths where Node finds them from a bundle as well as from the project. */
export const invoiceAssets: readonly Asset[] = Object.values(invoiceFontFiles).map((font) => ({
  to: `node_modules/${font}`,
  from: `node_modules/${font}`,
}));

/** The files beside the product's Lambdas and workers, by the name of the function. */
export const productAssets = async (): Promise<Record<string, readonly Asset[]>> => ({
  docs: await docsAssets(),
  fallback: fallbackAssets(lambdas),
  "billing.invoices.download": invoiceAssets,
});

/** Bundles the product's Lambdas and workers, with the files beside them, into `bundleDir`. */
export const bundleProduct = (): Promise<Metafile> =>
  bundleLambdas([...lambdas, ...workers, originAuthorizer], bundleDir, { assets: productAssets });

if (import.meta.main) await bundleProduct();
