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
  /** Where the SDK finds credentials: Lambda's environment, or wherever a machine may have them. */
  credentials?: "environment" | "anywhere";
  /** By the name of the Lambda; asked for while esbuild is at work. */
  assets?: () => Promise<Record<string, readonly Asset[]>>;
};

const root = resolve(import.meta.dirname, "../..");

const lambdaCredentials = join(root, "infra/build/lambda-credentials.ts");

/** Who finds files beside its code. Any bundle would grow by 2 kB; esbuild warns when another one needs it. */
const usesImportMetaUrl = new Set(["billing.invoices.download"]);

const withImportMetaUrl: BuildOptions = {
  inject: [join(root, "infra/build/import-meta-url.ts")],
  define: { "import.meta.url": "importMetaUrl" },
};

/** Where `node infra/build/bundle.ts` and the CDK app put the bundles. */
export const bundleDir = join(root, "dist/lambda");

/**
 * Bundles Lambdas: `<outdir>/<name>/index.js` exports `handler` and needs nothing else.
 * Empties `outdir` first; `<outdir>/meta.json` is esbuild's account of what went into which bundle.
 * The same sources give the same bytes.
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

/** One esbuild pass. */
async function buildAll(specs: readonly Entry[], settings: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({
    ...settings,
    absWorkingDir: root,
    entryPoints: specs.map(({ name, file }) => ({ in: file, out: `${name}/index` })),
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    // The SDK's ES modules tree-shake; its CommonJS does not.
    mainFields: ["module", "main"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  return metafile;
}

/** Without it Node would take the type from the project's package.json here, and guess it on Lambda. */
const packageOf: Record<"cjs" | "esm", Asset> = {
  cjs: { to: "package.json", content: '{"type":"commonjs"}' },
  esm: { to: "package.json", content: '{"type":"module"}' },
};

/** The fonts, where Node finds them from a bundle as from here. */
export const invoiceAssets: readonly Asset[] = Object.values(invoiceFontFiles).map((font) => ({
  to: `node_modules/${font}`,
  from: `node_modules/${font}`,
}));

/** The files beside the product's Lambdas and workers, by their names. */
export const productAssets = async (): Promise<Record<string, readonly Asset[]>> => ({
  docs: await docsAssets(),
  fallback: fallbackAssets(lambdas),
  "billing.invoices.download": invoiceAssets,
});

/** Bundles the product's Lambdas and workers, with the files beside them, into `bundleDir`. */
export const bundleProduct = (): Promise<Metafile> =>
  bundleLambdas([...lambdas, ...workers, originAuthorizer], bundleDir, { assets: productAssets });

if (import.meta.main) await bundleProduct();
