import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { notFound } from "../shared/core/errors.ts";
import { etagOf, hasTagWeakly, parseTags } from "../shared/core/etag.ts";
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

const policyOf = (more: { style?: string; image?: string; connect?: string } = {}): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${more.style ?? ""}`,
    `img-src 'self'${more.image ?? ""}`,
    `connect-src 'self'${more.connect ?? ""}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const verifyPath = "/verify";
const checkoutPath = "/checkout";
const invitationPath = "/invitation";
/** The well-known path of the agent card, which names the agent's address. */
const cardPath = "/.well-known/agent-card.json";
/** The reference page. Only its viewer needs inline styles and images. */
const referencePath = "/docs";

/** The origin of the endpoint from which the page of an invitation gets a token, for its policy; empty if there is none. */
async function tokenOrigin(): Promise<string> {
  // Loaded here, because no other page needs it.
  const [{ signInAt }, { readIssuers }] = await Promise.all([
    import("../shared/auth/issuer-metadata.ts"),
    import("../shared/core/environment.ts"),
  ]);
  const signIn = await signInAt(readIssuers(process.env)).catch(() => null);
  return signIn ? ` ${new URL(signIn.token_endpoint).origin}` : "";
}

async function pageHeaders(path: string): Promise<{ "cache-control": string; "content-security-policy": string }> {
  // Links to these pages contain a token, so the pages are never cached.
  if (path === verifyPath || path === checkoutPath)
    return { "cache-control": "no-store", "content-security-policy": policyOf() };
  if (path === invitationPath) {
    return {
      "cache-control": "no-store",
      "content-security-policy": policyOf({ connect: await tokenOrigin() }),
    };
  }
  const isReference = path === referencePath;
  return {
    "cache-control": "public, max-age=300",
    "content-security-policy": policyOf(isReference ? { style: " 'unsafe-inline'", image: " data:" } : undefined),
  };
}

/**
 * The file for a path: the OpenAPI document, the agent card, or a file of the pages. Undefined for any other path, such
 * as one with a slash after `/docs/`.
 */
function fileOf(path: string): string | undefined {
  if (path === "/v1/public/openapi.json") return "openapi.json";
  if (path === cardPath) return "agent-card.json";
  if (path === verifyPath) return "docs/verify.html";
  if (path === checkoutPath) return "docs/checkout.html";
  if (path === invitationPath) return "docs/invitation.html";
  if (path === referencePath) return "docs/index.html";
  const name = /^\/docs\/([a-z0-9][a-z0-9.-]*)$/.exec(path)?.[1];
  return name === undefined ? undefined : `docs/${extname(name) === "" ? `${name}.html` : name}`;
}

/** Answers 404 for a missing page: with an HTML page for browsers, else with a problem. */
async function missingPage(event: APIGatewayProxyEventV2, folder: string): Promise<Response> {
  const problem = failureResponse(notFound(), requestIdOf(event));
  if (!(event.headers["accept"] ?? "").includes("text/html")) return problem;
  const body = await readFile(join(folder, "not-found.html"), "utf8");
  const headers = { "content-type": mediaTypes[".html"] ?? "", "content-security-policy": policyOf() };
  return { ...problem, headers, body };
}

/**
 * Serves the OpenAPI document, the agent card, the reference pages, the verification page and the result page of checkouts from the files next to the
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
  const headers = { etag: `W/${etagOf(body)}`, vary: "accept-encoding", ...(await pageHeaders(event.rawPath)) };
  const clientTags = parseTags(event.headers["if-none-match"] ?? "");
  if (clientTags && hasTagWeakly(clientTags, etagOf(body)))
    return withStandardHeaders({ statusCode: 304, headers }, event);
  return withStandardHeaders(
    { statusCode: 200, headers: { "content-type": type, ...headers }, body, isBase64Encoded: !isText },
    event,
  );
};
