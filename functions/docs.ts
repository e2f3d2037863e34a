import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { notFound } from "../shared/core/errors.ts";
import { etagOf, hasTag, parseTags } from "../shared/core/etag.ts";
import { addressOf } from "../shared/core/product.ts";
import {
  type Response,
  failureResponse,
  redirectToDocs,
  requestIdOf,
  withStandardHeaders,
} from "../shared/http/response.ts";

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
};

const policyOf = (more: { style: string; image: string } = { style: "", image: "" }): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${more.style}`,
    `img-src 'self'${more.image}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const verifyPath = "/verify";
/** The well-known path of the agent card, which names the agent's address. */
const cardPath = "/.well-known/agent-card.json";
/** The reference page. Its viewer has inline styles and images, unlike every other page. */
const referencePath = "/docs";

function pageHeaders(path: string): { "cache-control": string; "content-security-policy": string } {
  // Links to this page contain a token, so the page is never cached.
  if (path === verifyPath) return { "cache-control": "no-store", "content-security-policy": policyOf() };
  const isReference = path === referencePath;
  return {
    "cache-control": "public, max-age=300",
    "content-security-policy": policyOf(isReference ? { style: " 'unsafe-inline'", image: " data:" } : undefined),
  };
}

/**
 * The file for a path: the document, the agent card, or a file of the pages. Undefined for a name that contains a slash
 * or begins with a dot.
 */
function fileOf(path: string): string | undefined {
  if (path === "/v1/public/openapi.json") return "openapi.json";
  if (path === cardPath) return "agent-card.json";
  if (path === verifyPath) return "docs/verify.html";
  if (path === "/docs") return "docs/index.html";
  const name = /^\/docs\/([a-z0-9][a-z0-9.-]*)$/.exec(path)?.[1];
  return name === undefined ? undefined : `docs/${extname(name) === "" ? `${name}.html` : name}`;
}

/** Answers a missing page: an HTML page for browsers, else the problem. */
async function missingPage(event: APIGatewayProxyEventV2, folder: string): Promise<Response> {
  const problem = failureResponse(notFound(), requestIdOf(event));
  if (!(event.headers["accept"] ?? "").includes("text/html")) return problem;
  const body = await readFile(join(folder, "not-found.html"), "utf8");
  const headers = { "content-type": mediaTypes[".html"] ?? "", "content-security-policy": policyOf() };
  return { ...problem, headers, body };
}

/**
 * Serves the OpenAPI document, the agent card, the reference pages and the verification page from the files next to the
 * bundle. Sends an entity tag, and 304 if the client has the current version.
 */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  const folder = process.env["DOCS_DIR"] ?? process.env["LAMBDA_TASK_ROOT"] ?? ".";
  const redirect = redirectToDocs(event);
  if (redirect) return withStandardHeaders(redirect, event);
  const file = fileOf(event.rawPath);
  const content = file === undefined ? undefined : await readFile(join(folder, file)).catch(() => undefined);
  if (file === undefined || content === undefined) return withStandardHeaders(await missingPage(event, folder), event);
  const type = mediaTypes[extname(file)] ?? "application/octet-stream";
  const isText = !type.startsWith("image/");
  const text = content.toString(isText ? "utf8" : "base64");
  const body = event.rawPath === cardPath ? text.replaceAll("{address}", addressOf(event)) : text;
  const headers = { etag: `W/${etagOf(body)}`, vary: "accept-encoding", ...pageHeaders(event.rawPath) };
  const known = parseTags(event.headers["if-none-match"] ?? "");
  if (known && hasTag(known, etagOf(body), true)) return withStandardHeaders({ statusCode: 304, headers }, event);
  return withStandardHeaders(
    { statusCode: 200, headers: { "content-type": type, ...headers }, body, isBase64Encoded: !isText },
    event,
  );
};
