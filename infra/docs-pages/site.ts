import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

import { problemCodes, problemOf } from "../../shared/core/errors.ts";
import type { Asset } from "../assets.ts";
import { type LambdaSpec, requestsTo } from "../entry-points.ts";
import { openApiDocument } from "../openapi/document.ts";
import { agentCard } from "./agent-card.ts";
import { errorGuidance } from "./errors.ts";
import { docsPages } from "./pages.ts";
import { playgroundScript } from "./playground-bundle.ts";
import { playgroundFunctions } from "./playground.ts";
import { layOut, renderMarkdown } from "./render.ts";

const root = resolve(import.meta.dirname, "../..");

/** Adds a row for each problem code. The `type` member of an error body links to the row. */
function withProblems(page: string): string {
  const rows = problemCodes.map((code) => {
    const { status, title } = problemOf(code);
    return `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}. ${errorGuidance[code]}</td></tr>`;
  });
  return page.replace("<!-- rows -->", rows.join("\n"));
}

const articleOf = (source: string, file: string): string =>
  file.endsWith(".md") ? renderMarkdown(source, file) : withProblems(source);

const notFound = `<h1>This page does not exist</h1>
<p>Start with the <a href="/docs/overview">overview</a>, or look up a function in the <a href="/docs">reference</a>.</p>`;

/** The pages besides the reference, and the page for unknown paths, as HTML files. */
const pageAssets = (): Asset[] => [
  ...docsPages.map((page) => ({
    to: `docs/${page.name}.html`,
    content: layOut(page, articleOf(readFileSync(join(root, page.file), "utf8"), page.file)),
  })),
  { to: "not-found.html", content: layOut({ name: "", title: "Page not found" }, notFound) },
];

const sourceFolder = resolve(import.meta.dirname, "../docs");
const viewerFolder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

/**
 * The files that the `docs` Lambda serves: the OpenAPI document, the agent card, the reference page with its viewer,
 * the playground, the other pages, the pages that confirm a forwarding and accept an
 * invitation, and the result page of checkouts.
 */
export async function docsAssets(): Promise<Asset[]> {
  // esbuild runs in its own process, so it can work while the rest is written.
  const script = playgroundScript();
  const verify = ["verify.html", "verify.js", "verify.css"];
  const invitation = ["invitation.html", "invitation.js"];
  const checkout = ["checkout.html", "checkout.js", "checkout.css"];
  const names = [
    "index.html",
    "docs.js",
    "base.css",
    "docs.css",
    "pages.css",
    "pages.js",
    "playground.html",
    "playground.css",
    ...verify,
    ...invitation,
    ...checkout,
  ];
  const ownFiles = names.map((name) => ({ to: `docs/${name}`, from: join(sourceFolder, name) }));
  const viewerFiles = ["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];
  return [
    { to: "openapi.json", content: JSON.stringify(openApiDocument()) },
    { to: "agent-card.json", content: JSON.stringify(agentCard()) },
    { to: "docs/functions.json", content: JSON.stringify(playgroundFunctions()) },
    { to: "docs/playground.js", content: await script },
    ...pageAssets(),
    ...ownFiles,
    ...viewerFiles.map((name) => ({ to: `docs/${name}`, from: join(viewerFolder, name) })),
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
