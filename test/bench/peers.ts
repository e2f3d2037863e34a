import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { build, type BuildOptions } from "esbuild";

import { root } from "./harness.ts";

const sources = join(import.meta.dirname, "peers");
/**
 * The folder of the peers and their packages. It is in node_modules, where no tool of the project looks. The peers use
 * the AWS SDK of the project.
 */
const installed = join(root, "node_modules/.cache/bench-peers");

/** Copies the peers' sources. Installs the packages of their lock file unless they are installed. */
async function install(): Promise<void> {
  const lock = await readFile(join(sources, "package-lock.json"), "utf8");
  const marker = join(installed, "node_modules/.installed");
  await mkdir(installed, { recursive: true });
  await cp(sources, installed, { recursive: true });
  if ((await readFile(marker, "utf8").catch(() => "")) === lock) return;
  process.stderr.write("installing peers …\n");
  const flags = ["--prefix", installed, "--no-audit", "--no-fund", "--silent", "--ignore-scripts"];
  execFileSync("npm", ["ci", ...flags], { stdio: "inherit" });
  await writeFile(marker, lock);
}

const modules: BuildOptions = { minify: true, mainFields: ["module", "main"] };
const credentials = { "@aws-sdk/credential-provider-node": join(root, "infra/build/lambda-credentials.ts") };
const optional = ["@nestjs/microservices", "@nestjs/websockets", "class-validator", "class-transformer"];
const ours: BuildOptions = { ...modules, alias: credentials };

/** A framework with the options of its bundle: the usual ones (docs/benchmarks-tables.md says whose), or ours. */
type Peer = { framework: string; label: string; options: BuildOptions };

const recommended: Peer[] = [
  { framework: "hono", label: "Hono", options: {} },
  { framework: "powertools", label: "Powertools", options: modules },
  { framework: "fastify", label: "Fastify", options: { minify: true } },
  { framework: "express", label: "Express, bundled", options: { minify: true } },
  { framework: "nest", label: "NestJS", options: { ...modules, external: optional } },
];
/**
 * Peers that are compared only in cold starts: handlers with only an SDK client, Express unbundled, and frameworks that
 * are bundled like our code.
 */
const coldOnly: Peer[] = [
  { framework: "bare", label: "bare SDK", options: modules },
  { framework: "bare", label: "bare SDK, our bundler", options: ours },
  { framework: "express", label: "Express", options: { packages: "external" } },
  { framework: "hono", label: "Hono, our bundler", options: ours },
  { framework: "powertools", label: "Powertools, our bundler", options: ours },
  { framework: "express", label: "Express, our bundler", options: ours },
];
const warmOnly: Peer[] = [{ framework: "none", label: "no framework", options: ours }];

/**
 * The work of a peer for a request. `bare` makes only the calls to the table that the answer needs. `same` makes as
 * many calls as our code. `verified` also verifies the token.
 */
export const works = ["verified", "same", "bare"] as const;
export type Work = (typeof works)[number];

/**
 * Makes the bundles of the peers. With `cold`, they serve only the GET of one workspace. Otherwise they serve the three
 * requests of `warm.ts`: a GET, a page and a POST.
 */
export async function bundlePeers(work: Work | "cold"): Promise<{ label: string; file: string; bytes: number }[]> {
  await install();
  const peers = [...(work === "cold" ? coldOnly : warmOnly), ...recommended];
  const bundling = peers.map(async ({ framework, label, options }, index) => {
    const file = join(installed, `dist/${work}-${index}.cjs`);
    await build({
      bundle: true,
      platform: "node",
      target: "node24",
      legalComments: "none",
      logLevel: "error",
      ...options,
      stdin: { contents: entryOf(framework, work), resolveDir: installed },
      outfile: file,
    });
    return { label, file, bytes: (await stat(file)).size };
  });
  return Promise.all(bundling);
}

function entryOf(framework: string, work: Work | "cold"): string {
  if (framework === "bare") return `export { handler } from "./bare.mjs";`;
  const isVerified = work === "verified";
  return `
    import { serve } from "./${framework}.mjs";
    import { ${isVerified ? "same" : work} as routes } from "./work.mjs";
    ${isVerified ? 'import { verified } from "./verified.mjs";' : "const verified = (handler) => handler;"}
    export const handler = verified(serve(routes()));
  `;
}
