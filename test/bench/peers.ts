import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { build, type BuildOptions } from "esbuild";

const root = resolve(import.meta.dirname, "../..");
const sources = join(import.meta.dirname, "peers");
/** Beside the project's own packages, where no tool of the project looks. The SDK is the project's. */
const installed = join(root, "node_modules/.cache/bench-peers");

/** Copies the peers' sources, and installs the packages of their lock file unless they are there. */
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
/** How a bundle is made: as the peer's own documentation says (docs/benchmarks-tables.md), or as ours are. */
const recipes: Record<string, BuildOptions> = {
  unbundled: { packages: "external" },
  sam: { minify: true },
  starter: {},
  cdk: modules,
  nest: { ...modules, external: optional },
  ours: { ...modules, alias: credentials },
};

type Peer = { framework: string; label: string; recipe: keyof typeof recipes };
/** A peer's bundle. */
type Contender = Peer & { file: string; bytes: number };

const recommended: Peer[] = [
  { framework: "hono", label: "Hono", recipe: "starter" },
  { framework: "powertools", label: "Powertools", recipe: "cdk" },
  { framework: "fastify", label: "Fastify", recipe: "sam" },
  { framework: "express", label: "Express, bundled", recipe: "sam" },
  { framework: "nest", label: "NestJS", recipe: "nest" },
];
/** For cold starts alone: the floor, which is a handler with a client; frameworks unbundled, and bundled as ours. */
const coldOnly: Peer[] = [
  { framework: "bare", label: "bare SDK", recipe: "cdk" },
  { framework: "bare", label: "bare SDK, our bundler", recipe: "ours" },
  { framework: "express", label: "Express", recipe: "unbundled" },
  { framework: "hono", label: "Hono, our bundler", recipe: "ours" },
  { framework: "powertools", label: "Powertools, our bundler", recipe: "ours" },
  { framework: "express", label: "Express, our bundler", recipe: "ours" },
];
const warmOnly: Peer[] = [{ framework: "none", label: "no framework", recipe: "ours" }];

/** What a peer does for a request: only the calls that answer it; all calls that ours makes; those, and it verifies the token. */
export const works = ["verified", "same", "bare"] as const;
export type Work = (typeof works)[number];

/** The bundles of all peers: with all three requests, or for a cold start with the read of one workspace alone. */
export async function bundlePeers(work: Work | "cold"): Promise<Contender[]> {
  await install();
  const peers = [...(work === "cold" ? coldOnly : warmOnly), ...recommended];
  return Promise.all(peers.map((peer, index) => bundle(peer, work, join(installed, `dist/${work}-${index}.cjs`))));
}

function entryOf(framework: string, work: Work | "cold"): string {
  if (framework === "bare") return `export { handler } from "./bare.mjs";\n`;
  const isVerified = work === "verified";
  return `
    import { serve } from "./${framework}.mjs";
    import { ${isVerified ? "same" : work} as routes } from "./work.mjs";
    ${isVerified ? 'import { verified } from "./verified.mjs";' : "const verified = (handler) => handler;"}
    export const handler = verified(serve(routes()));
  `;
}

async function bundle(peer: Peer, work: Work | "cold", outfile: string): Promise<Contender> {
  await build({
    bundle: true,
    platform: "node",
    target: "node24",
    legalComments: "none",
    logLevel: "error",
    ...recipes[peer.recipe],
    stdin: { contents: entryOf(peer.framework, work), resolveDir: installed },
    outfile,
  });
  return { ...peer, file: outfile, bytes: (await stat(outfile)).size };
}
