import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { build, type BuildOptions } from "esbuild";

const root = resolve(import.meta.dirname, "../..");
const sources = join(import.meta.dirname, "peers");
/** Beside the project's own packages, so that nothing that looks through its sources meets theirs; the SDK is the project's. */
const installed = join(root, "node_modules/.cache/bench-peers");

/** Puts the peers' sources where their packages are, which are installed unless these very versions are there. */
async function install(): Promise<void> {
  const lock = await readFile(join(sources, "package-lock.json"), "utf8");
  const marker = join(installed, "node_modules/.installed");
  const known = await readFile(marker, "utf8").catch(() => "");
  await mkdir(installed, { recursive: true });
  await cp(sources, installed, { recursive: true });
  if (known === lock) return;
  process.stderr.write("installing the peers …\n");
  execFileSync("npm", ["ci", "--prefix", installed, "--no-audit", "--no-fund", "--silent"], { stdio: "inherit" });
  await writeFile(marker, lock);
}

/** How a bundle is made, as the peer's own documentation says it, or as ours are. */
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

const common: BuildOptions = {
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node24",
  legalComments: "none",
  logLevel: "error",
};
const modules = { minify: true, mainFields: ["module", "main"] };
const settings: Record<Exclude<Recipe, "webpack">, BuildOptions> = {
  zip: { packages: "external" },
  sam: { minify: true },
  starter: {},
  cdk: modules,
  ours: {
    ...modules,
    alias: { "@aws-sdk/credential-provider-node": join(root, "infra/build/lambda-credentials.ts") },
  },
  "ours, any credentials": modules,
};

/** One who answers the same requests: whose it is, how it was bundled, and its module. */
export type Contender = { id: string; label: string; recipe: Recipe; file: string; bytes: number };

type Peer = { framework: string; label: string; recipe: Recipe };

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

/** Only the read of one workspace: what is loaded for a cold start. The floor is a handler with a client alone. */
export async function readers(): Promise<Contender[]> {
  await install();
  const floor = (["ours, any credentials", "ours"] as const).map((recipe) =>
    bundle({ framework: "bare-read", label: recipe === "ours" ? "bare SDK, our bundler" : "bare SDK", recipe }, "read"),
  );
  return Promise.all([...floor, ...[...recommended, ...asOurs].map((peer) => bundle(peer, "read"))]);
}

/** What a peer does for a request: only what answers it, what ours does call for call, or that and verifying the token. */
export const works = ["verified", "same", "bare"] as const;
export type Work = (typeof works)[number];

/** All three requests with some table work. */
export async function servers(work: Work): Promise<Contender[]> {
  await install();
  const peers: Peer[] = [
    { framework: "none", label: "no framework", recipe: "ours" },
    ...recommended.filter(({ recipe }) => recipe !== "zip"),
  ];
  return Promise.all(peers.map((peer) => bundle(peer, work)));
}

function entryOf(framework: string, work: Work | "read"): string {
  if (framework === "bare-read") return `export { handler } from "./bare-read.mjs";\n`;
  const file = { read: "read", bare: "bare-work", same: "same-work", verified: "same-work" }[work];
  return [
    `import { serve } from "./${framework}.mjs";`,
    `import { verified } from "./verified.mjs";`,
    `import * as work from "./${file}.mjs";`,
    `const served = serve({ ...work });`,
    `export const handler = ${work === "verified" ? "verified(served)" : "served"};\n`,
  ]
    .filter((line) => work === "verified" || !line.includes("./verified.mjs"))
    .join("\n");
}

async function bundle({ framework, label, recipe }: Peer, work: Work | "read"): Promise<Contender> {
  const id = `${framework}-${work}-${recipe.replaceAll(/\W+/g, "-")}`;
  const entry = join(installed, `${id}.entry.mjs`);
  const file = join(installed, `dist/${id}.cjs`);
  await writeFile(entry, entryOf(framework, work));
  if (recipe === "webpack") await packWithWebpack(entry, file);
  else await build({ ...common, ...settings[recipe], entryPoints: [entry], outfile: file });
  await rm(entry);
  return { id, label, recipe, file, bytes: (await stat(file)).size };
}

type Webpack = {
  (
    config: object,
    done: (error: Error | null, stats?: { hasErrors: () => boolean; toString: () => string }) => void,
  ): void;
  IgnorePlugin: new (options: { checkResource: (name: string) => boolean }) => object;
};

/** The configuration of NestJS's page on serverless: all packages inside, optional ones that are absent ignored. */
async function packWithWebpack(entry: string, file: string): Promise<void> {
  const require = createRequire(join(installed, "package.json"));
  const webpack = require("webpack") as Webpack;
  const Terser = require("terser-webpack-plugin") as new (options: object) => object;
  const optional = ["@nestjs/microservices", "@nestjs/websockets", "class-validator", "class-transformer"];
  const isAbsent = (name: string): boolean => {
    if (!optional.some((one) => name === one || name.startsWith(`${one}/`))) return false;
    try {
      require.resolve(name);
      return false;
    } catch {
      return true;
    }
  };
  const config = {
    context: installed,
    mode: "production",
    target: "node",
    entry,
    output: { path: resolve(file, ".."), filename: file.split("/").at(-1), library: { type: "commonjs2" } },
    optimization: { minimizer: [new Terser({ terserOptions: { keep_classnames: true }, extractComments: false })] },
    plugins: [new webpack.IgnorePlugin({ checkResource: isAbsent })],
  };
  await new Promise<void>((settle, fail) =>
    webpack(config, (error, stats) => {
      if (error) fail(error);
      else if (stats?.hasErrors()) fail(new Error(stats.toString()));
      else settle();
    }),
  );
}
