import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { build, type Metafile } from "esbuild";

import { writeAssets, type Asset } from "./assets.ts";
import { docsAssets, fallbackAssets } from "./docs-assets.ts";
import { lambdas, type LambdaSpec } from "./lambdas.ts";
import { workers } from "./workers.ts";

type BundleOptions = {
  format?: "cjs" | "esm";
  /** Where the SDK finds credentials: Lambda's environment, or wherever a machine may have them. */
  credentials?: "environment" | "anywhere";
  /** By the name of the Lambda. */
  assets?: Record<string, readonly Asset[]>;
};

const root = resolve(import.meta.dirname, "..");

const lambdaCredentials = join(root, "infra/lambda-credentials.ts");

/** Where `node infra/bundle.ts` and the CDK app put the bundles. */
export const bundleDir = join(root, "dist/lambda");

/**
 * Bundles every Lambda in one esbuild pass: `<outdir>/<name>/index.js` exports `handler` and needs nothing else.
 * Empties `outdir` first; `<outdir>/meta.json` is esbuild's account of what went into which bundle.
 * The same sources give the same bytes.
 */
export async function bundleLambdas(
  specs: readonly Pick<LambdaSpec, "name" | "file">[],
  outdir: string,
  options: BundleOptions = {},
): Promise<Metafile> {
  const { format = "cjs", credentials = "environment", assets = {} } = options;
  const unknown = Object.keys(assets).filter((name) => !specs.some((spec) => spec.name === name));
  if (unknown.length > 0) throw new Error(`There are files for Lambdas that do not exist: ${unknown.join(", ")}`);
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: specs.map(({ name, file }) => ({ in: file, out: `${name}/index` })),
    outdir,
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    format,
    // The SDK's ES modules tree-shake; its CommonJS does not.
    mainFields: ["module", "main"],
    ...(credentials === "environment" ? { alias: { "@aws-sdk/credential-provider-node": lambdaCredentials } } : {}),
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  await writeFile(join(outdir, "meta.json"), JSON.stringify(metafile));
  const files = specs.map(({ name }) => writeAssets(join(outdir, name), [packageOf[format], ...(assets[name] ?? [])]));
  await Promise.all(files);
  return metafile;
}

/** Without it Node would take the type from the project's package.json here, and guess it on Lambda. */
const packageOf: Record<"cjs" | "esm", Asset> = {
  cjs: { to: "package.json", content: '{"type":"commonjs"}' },
  esm: { to: "package.json", content: '{"type":"module"}' },
};

/** Bundles the product's Lambdas and workers, with the files beside them, into `bundleDir`. */
export const bundleProduct = (): Promise<Metafile> =>
  bundleLambdas([...lambdas, ...workers], bundleDir, {
    assets: { docs: docsAssets(), fallback: fallbackAssets(lambdas) },
  });

if (import.meta.main) await bundleProduct();
