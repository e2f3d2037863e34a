import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

import type { Asset } from "../assets.ts";
import { type LambdaSpec, requestsTo } from "../entry-points.ts";
import { openApiDocument } from "../openapi/document.ts";
import { agentCard } from "./agent-card.ts";
import { pageAssets } from "./assets.ts";
import { playgroundScript } from "./playground-bundle.ts";
import { playgroundFunctions } from "./playground.ts";

const pages = resolve(import.meta.dirname, "../docs");
const viewer = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

/**
 * What the `docs` Lambda serves: the OpenAPI document, the agent card, the reference page with its viewer, the
 * playground, the pages beside them, and the page that confirms a forwarding.
 */
export async function docsAssets(): Promise<Asset[]> {
  // esbuild is a process of its own: it works while the rest is written.
  const script = playgroundScript();
  const verify = ["verify.html", "verify.js", "verify.css"];
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
  ];
  const local = names.map((name) => ({ to: `docs/${name}`, from: join(pages, name) }));
  const served = ["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];
  return [
    { to: "openapi.json", content: JSON.stringify(openApiDocument()) },
    { to: "agent-card.json", content: JSON.stringify(agentCard()) },
    { to: "docs/functions.json", content: JSON.stringify(playgroundFunctions()) },
    { to: "docs/playground.js", content: await script },
    ...pageAssets(),
    ...local,
    ...served.map((name) => ({ to: `docs/${name}`, from: join(viewer, name) })),
  ];
}

/** What the `fallback` Lambda reads: which methods each path template takes. */
export function fallbackAssets(lambdas: readonly LambdaSpec[]): Asset[] {
  const methods: Record<string, string[]> = {};
  for (const trigger of lambdas.flatMap(({ triggers }) => requestsTo(triggers))) {
    const [method = "", path] = trigger.split(" ");
    if (path !== undefined) (methods[path] ??= []).push(method);
  }
  return [{ to: "methods.json", content: JSON.stringify(methods) }];
}
