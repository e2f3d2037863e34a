import { join, resolve } from "node:path";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import type { Asset } from "../assets.ts";
import { type LambdaSpec, requestsTo } from "../entry-points.ts";
import { agentCard } from "./agent-card.ts";
import type { SiteFile } from "./build.ts";
import { filesIn, hashOfFiles, lockFile, readCache, writeCache } from "./cache.ts";
import { docsPages } from "./pages.ts";
import { playgroundFunctions } from "./playground.ts";
import { document, familiesWithOperations, operations } from "./reference/operations.ts";

const root = resolve(import.meta.dirname, "../..");
const sourceFolder = resolve(import.meta.dirname, "../docs");
const pictureFolders = [join(root, "docs/images"), join(root, "docs/benchmarks")];
const sampleSources = ["examples.json", "samples.ts", "literals.ts"].map((name) => join(root, "infra/openapi", name));

/** The rendered files of the site. They are cached until a source, a text, a sample or `data` changes. */
async function siteFiles(data: string): Promise<readonly SiteFile[]> {
  const folders = await Promise.all([sourceFolder, import.meta.dirname, ...pictureFolders].map(filesIn));
  const sources = [...folders.flat(), ...docsPages.map(({ file }) => join(root, file)), lockFile];
  const hash = await hashOfFiles([...sources, ...sampleSources], data);
  const known = await readCache("site", hash);
  if (known !== undefined) return known as SiteFile[];
  // The renderer is loaded only here, because a cached site needs no renderer.
  const { buildSite } = await import("./build.ts");
  const files = await buildSite();
  await writeCache("site", hash, files);
  return files;
}

/** The data of families, routes and problems that the pages show but the OpenAPI document does not contain. */
const dataOutsideDocument = (): object => ({
  families: familiesWithOperations.map(({ name, title, description }) => [name, title, description]),
  problems: problemCodes.map((code) => [code, problemOf(code)]),
  routes: [...operations.values()].map(({ route }) => [route.capability, route.open, route.limit, route.synonyms]),
});

/** Files that are served unchanged. */
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
 * The files that the `docs` Lambda serves:
 * - the OpenAPI document and the agent card,
 * - the site with its reference and playground,
 * - the pages for confirming a forwarding, for accepting an invitation, and for the result of a checkout.
 */
export async function docsAssets(): Promise<Asset[]> {
  const openApi = `${JSON.stringify(document)}\n`;
  return [
    { to: "openapi.json", content: openApi },
    { to: "agent-card.json", content: `${JSON.stringify(agentCard())}\n` },
    { to: "docs/functions.json", content: JSON.stringify(playgroundFunctions()) },
    ...(await siteFiles(openApi + JSON.stringify(dataOutsideDocument()))),
    ...ownFiles.map((name) => ({ to: `docs/${name}`, from: join(sourceFolder, name) })),
  ];
}

/** The file `methods.json` for the `fallback` Lambda. It contains the HTTP methods of each path template. */
export function fallbackAssets(lambdas: readonly LambdaSpec[]): Asset[] {
  const methods: Record<string, string[]> = {};
  for (const trigger of lambdas.flatMap(({ triggers }) => requestsTo(triggers))) {
    const [method = "", path] = trigger.split(" ");
    if (path !== undefined) (methods[path] ??= []).push(method);
  }
  return [{ to: "methods.json", content: JSON.stringify(methods) }];
}

/** The file with the page for browsers at an unknown path. The `docs` and the `fallback` Lambda read this file. */
export const missingPageFile = "not-found.html";
