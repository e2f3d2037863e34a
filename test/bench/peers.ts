import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { build, type BuildOptions } from "esbuild";

const root = resolve(import.meta.dirname, "../..");
const sources = join(import.meta.dirname, "peers");
/** Beside the project's own packages, where no tool of the project looks. The SDK is the project's. */
const installed = join(root, "node_modules/.cache/bench-peers");

/** Packages that came after this day are not installed, so that all runs measure the same peers. */
const before = "2026-11-21";

/** Copies the peers' sources, and installs their packages unless these very versions are there. */
async function install(): Promise<void> {
  const wanted = `${before} ${await readFile(join(sources, "package.json"), "utf8")}`;
  const marker = join(installed, "node_modules/.installed");
  await mkdir(installed, { recursive: true });
  await cp(sources, installed, { recursive: true });
  if ((await readFile(marker, "utf8").catch(() => "")) === wanted) return;
  process.stderr.write("installing the peers …\n");
  const flags = ["--no-audit", "--no-fund", "--silent", "--no-package-lock", "--ignore-scripts"];
  execFileSync("npm", ["install", "--prefix", installed, "--before", before, ...flags], { stdio: "inherit" });
  await writeFile(marker, wanted);
}

/** How a bundle is made: as the peer's own documentation says, or as ours are. */
type Recipe = "zip" | "sam" | "starter" | "cdk" | "webpack" | "ours" | "ours, any credentials";

export const recipes: Record<Recipe, string> = {
  zip: "not bundled: node_modules as npm leaves them",
  sam: "esbuild as AWS SAM runs it: CommonJS, minified",
  starter: "esbuild as its starter runs it: not minified",
  cdk: "esbuild as AWS CDK runs it, from ES modules, minified",
  webpack: "webpack, everything in one file, minified, class names kept",
  ours: "as our bundles: esbuild from ES modules, minified, credentials from the environment alone",
  "ours, any credentials": "esbuild from ES modules, minified, with the SDK's own credential chain",
};

const modules: BuildOptions = { minify: true, mainFields: ["module", "main"] };
const settings: Record<Exclude<Recipe, "webpack">, BuildOptions> = {
  zip: { packages: "external" },
  sam: { minify: true },
  starter: {},
  cdk: modules,
  ours: { ...modules, alias: { "@aws-sdk/credential-provider-node": join(root, "infra/build/lambda-credentials.ts") } },
  "ours, any credentials": modules,
};

type Peer = { framework: string; label: string; recipe: Recipe };
/** A peer's bundle. */
type Contender = Peer & { file: string; bytes: number };

const recommended: Peer[] = [
  { framework: "hono", label: "Hono", recipe: "starter" },
  { framework: "powertools", label: "Powertools", recipe: "cdk" },
  { framework: "express", label: "Express, bundled", recipe: "sam" },
  { framework: "express", label: "Express", recipe: "zip" },
  { framework: "nest", label: "NestJS", recipe: "webpack" },
];
const asOurs: Peer[] = [
  { framework: "hono", label: "Hono, our bundler", recipe: "ours" },
  { framework: "powertools", label: "Powertools, our bundler", recipe: "ours" },
  { framework: "express", label: "Express, our bundler", recipe: "ours" },
];
/** The floor of cold starts: a handler with a client alone. */
const bare: Peer[] = [
  { framework: "bare", label: "bare SDK", recipe: "ours, any credentials" },
  { framework: "bare", label: "bare SDK, our bundler", recipe: "ours" },
];

/** The peers with the read of one workspace alone, which is what a cold start loads. */
export async function readers(): Promise<Contender[]> {
  await install();
  return Promise.all([...bare, ...recommended, ...asOurs].map((peer) => bundle(peer, "read")));
}

/** What a peer does for a request: only the calls that answer it; all calls that ours makes; those, and it verifies the token. */
export const works = ["verified", "same", "bare"] as const;
export type Work = (typeof works)[number];

/** The peers with all three requests. */
export async function servers(work: Work): Promise<Contender[]> {
  await install();
  const none: Peer = { framework: "none", label: "no framework", recipe: "ours" };
  const peers = [none, ...recommended.filter(({ recipe }) => recipe !== "zip")];
  return Promise.all(peers.map((peer) => bundle(peer, work)));
}

function entryOf(framework: string, work: Work | "read"): string {
  if (framework === "bare") return `export { handler } from "./bare.mjs";\n`;
  const routes = work === "verified" ? "same" : work;
  const lines = [
    `import { serve } from "./${framework}.mjs";`,
    `import { ${routes} } from "./work.mjs";`,
    ...(work === "verified" ? [`import { verified } from "./verified.mjs";`] : []),
    `const served = serve(${routes}());`,
    `export const handler = ${work === "verified" ? "verified(served)" : "served"};`,
  ];
  return lines.join("\n");
}

async function bundle(peer: Peer, work: Work | "read"): Promise<Contender> {
  const { framework, recipe } = peer;
  const id = `${framework}-${work}-${recipe.replaceAll(/\W+/g, "-")}`;
  const entry = join(installed, `${id}.entry.mjs`);
  const file = join(installed, `dist/${id}.cjs`);
  await writeFile(entry, entryOf(framework, work));
  if (recipe === "webpack") await packWithWebpack(entry, file);
  else {
    const lambda = { bundle: true, platform: "node", format: "cjs", target: "node24", legalComments: "none" } as const;
    await build({ ...lambda, ...settings[recipe], logLevel: "error", entryPoints: [entry], outfile: file });
  }
  await rm(entry);
  return { ...peer, file, bytes: (await stat(file)).size };
}

type Webpack = {
  (config: object, done: (error: Error | null, stats?: Stats) => void): void;
  IgnorePlugin: new (options: { checkResource: (name: string) => boolean }) => object;
};
type Stats = { hasErrors: () => boolean; toString: () => string };

/** Bundles as NestJS's page on serverless says: all packages inside, without the optional ones that are absent. */
async function packWithWebpack(entry: string, file: string): Promise<void> {
  const require = createRequire(join(installed, "package.json"));
  const webpack = require("webpack") as Webpack;
  const Terser = require("terser-webpack-plugin") as new (options: object) => object;
  const absent = /^(?:@nestjs\/microservices|@nestjs\/websockets|class-validator|class-transformer)(?:\/|$)/;
  const stats = await promisify<object, Stats | undefined>(webpack)({
    context: installed,
    mode: "production",
    target: "node",
    entry,
    output: { path: dirname(file), filename: basename(file), library: { type: "commonjs2" } },
    optimization: { minimizer: [new Terser({ terserOptions: { keep_classnames: true }, extractComments: false })] },
    plugins: [new webpack.IgnorePlugin({ checkResource: (name) => absent.test(name) })],
  });
  if (stats?.hasErrors()) throw new Error(stats.toString());
}
