import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import type { Asset } from "../assets.ts";
import { type LambdaSpec, requestsTo } from "../entry-points.ts";
import { agentCard } from "./agent-card.ts";
import type { SiteFile } from "./build.ts";
import { docsPages } from "./pages.ts";
import { playgroundFunctions } from "./playground.ts";
import { document, operations } from "./reference/operations.ts";

const root = resolve(import.meta.dirname, "../..");
const sourceFolder = resolve(import.meta.dirname, "../docs");
const cacheFolder = join(root, "node_modules/.cache/docs-site");

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Hashes what the site is made from: its sources, the texts, the OpenAPI document, and the routes' other members. */
async function hashOfInputs(data: string): Promise<string> {
  const folders = await Promise.all([sourceFolder, import.meta.dirname, join(root, "docs/images")].map(filesIn));
  const texts = docsPages.map(({ file }) => join(root, file));
  const files = new Set([...folders.flat(), ...texts, join(root, "package-lock.json")]);
  const contents = await Promise.all([...files].toSorted().map(async (file) => [file, await readFile(file)] as const));
  const hash = createHash("sha256").update(data);
  for (const [file, content] of contents) hash.update(`${file}\0${content.length}\0`).update(content);
  return hash.digest("hex");
}

/** Replaces the cached site. If the cache cannot be written, every start renders the site again. */
async function keep(cached: string, files: readonly SiteFile[]): Promise<void> {
  // The files are first written under another name, so that no other process reads half of them.
  const unfinished = `${cached}.${process.pid}`;
  try {
    await rm(cacheFolder, { recursive: true, force: true });
    await mkdir(cacheFolder, { recursive: true });
    await writeFile(unfinished, JSON.stringify(files));
    await rename(unfinished, cached);
  } catch {
    // The caller still has the files in memory.
  }
}

/** The rendered files of the site, cached in `node_modules/.cache` until a source changes. */
async function siteFiles(data: string): Promise<readonly SiteFile[]> {
  const cached = join(cacheFolder, `${await hashOfInputs(data)}.json`);
  const known = await readFile(cached, "utf8").catch(() => undefined);
  if (known !== undefined) return JSON.parse(known) as SiteFile[];
  // Loaded only here, because a start with a cached site needs no renderer.
  const { buildSite } = await import("./build.ts");
  const files = await buildSite();
  await keep(cached, files);
  return files;
}

/** What the pages show of the routes and problems besides the OpenAPI document. */
const shownBesides = (): object => ({
  problems: problemCodes.map((code) => [code, problemOf(code)]),
  routes: [...operations.values()].map(({ route }) => [route.capability, route.open, route.limit, route.synonyms]),
});

/** Files that are served as they are. */
const ownFiles = [
  "base.css",
  "site.css",
  "playground.css",
  "favicon.svg",
  "verify.html",
  "verify.js",
  "verify.css",
  "invitation.html",
  "invitation.js",
  "checkout.html",
  "checkout.js",
  "checkout.css",
];

/**
 * The files that the `docs` Lambda serves: the OpenAPI document, the agent card, the site with its reference and
 * playground, the pages that confirm a forwarding and accept an invitation, and the result page of checkouts.
 */
export async function docsAssets(): Promise<Asset[]> {
  const openApi = `${JSON.stringify(document)}\n`;
  return [
    { to: "openapi.json", content: openApi },
    { to: "agent-card.json", content: `${JSON.stringify(agentCard())}\n` },
    { to: "docs/functions.json", content: JSON.stringify(playgroundFunctions()) },
    ...(await siteFiles(openApi + JSON.stringify(shownBesides()))),
    ...ownFiles.map((name) => ({ to: `docs/${name}`, from: join(sourceFolder, name) })),
  ];
}

/** The file that the `fallback` Lambda reads: the methods of each path template. */
export function fallbackAssets(lambdas: readonly LambdaSpec[]): Asset[] {
  const methods: Record<string, string[]> = {};
  for (const trigger of lambdas.flatMap(({ triggers }) => requestsTo(triggers))) {
    const [method = "", path] = trigger.split(" ");
    if (path !== undefined) (methods[path] ??= []).push(method);
  }
  return [{ to: "methods.json", content: JSON.stringify(methods) }];
}

/** The page that answers a browser at an unknown path, which the `docs` and the `fallback` Lambda read. */
export const missingPageFile = "not-found.html";
