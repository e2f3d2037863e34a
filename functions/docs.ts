import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { etagOf, hasTagWeakly, parseTags } from "../shared/core/etag.ts";
import { addressOf } from "../shared/core/product.ts";
import { filesFolder, missingPath, pagePolicy } from "../shared/http/page.ts";
import { type Response, redirectToDocs, withStandardHeaders } from "../shared/http/response.ts";

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
};

const verifyPath = "/verify";
const checkoutPath = "/checkout";
const invitationPath = "/invitation";
/** The well-known path of the agent card, which names the agent's address. */
const cardPath = "/.well-known/agent-card.json";
/** The list of all pages for agents, in the form of llmstxt.org. */
const llmsPath = "/llms.txt";

/**
 * The origin of the endpoint from which the invitation page gets a token, with a space before it, as `pagePolicy` needs
 * it. The page's content security policy must allow this origin. Empty if there is no such endpoint, or if the issuer's
 * metadata cannot be read.
 */
async function tokenSource(): Promise<string> {
  // Loaded here, because no other page needs it.
  const [{ signInAt }, { readIssuers }] = await Promise.all([
    import("../shared/auth/issuer-metadata.ts"),
    import("../shared/core/environment.ts"),
  ]);
  const signIn = await signInAt(readIssuers(process.env)).catch(() => null);
  return signIn ? ` ${new URL(signIn.token_endpoint).origin}` : "";
}

async function pageHeaders(path: string): Promise<{ "cache-control": string; "content-security-policy": string }> {
  // A link to one of these three pages contains a secret token. The pages are not cached, so that no cache keeps the
  // link.
  if (path === verifyPath || path === checkoutPath)
    return { "cache-control": "no-store", "content-security-policy": pagePolicy() };
  if (path === invitationPath) {
    return {
      "cache-control": "no-store",
      "content-security-policy": pagePolicy({ connect: await tokenSource() }),
    };
  }
  return { "cache-control": "public, max-age=300", "content-security-policy": pagePolicy() };
}

/**
 * Matches the path of a file of the site: a page, a page of the reference, or a file that these pages load. A name
 * without an extension of `mediaTypes` is the name of a page.
 */
const siteFile = /^\/docs\/((?:reference\/)?[a-z0-9][a-z0-9._-]*)$/;

const extensions: ReadonlySet<string> = new Set(Object.keys(mediaTypes));

/**
 * The file for a path: the OpenAPI document, the agent card, or a file of the pages. Undefined for any other path, such
 * as a path with a folder under `/docs/` other than `reference`.
 */
function fileOf(path: string): string | undefined {
  if (path === "/v1/public/openapi.json") return "openapi.json";
  if (path === cardPath) return "agent-card.json";
  if (path === llmsPath) return "llms.txt";
  if (path === verifyPath) return "docs/verify.html";
  if (path === checkoutPath) return "docs/checkout.html";
  if (path === invitationPath) return "docs/invitation.html";
  if (path === "/docs" || path === "/docs/reference") return "docs/index.html";
  const name = siteFile.exec(path)?.[1];
  // These pages have paths of their own outside `/docs`.
  if (name === undefined || /^(?:verify|checkout|invitation)(?:\.html)?$/.test(name)) return undefined;
  // A name with a dot can also be a page: the reference has a page for each operation, such as `mailboxes.add`. So only
  // the extensions in `mediaTypes` count.
  return `docs/${name}${extensions.has(extname(name)) ? "" : ".html"}`;
}

/**
 * Serves files that are next to the bundle:
 * - the OpenAPI document, the agent card and `llms.txt`
 * - the documentation site
 * - the pages for a verification, for the result of a checkout and for an invitation
 *
 * Sends an entity tag, and 304 if the client has the current version.
 */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  const redirect = redirectToDocs(event);
  if (redirect) return withStandardHeaders(redirect, event);
  const file = fileOf(event.rawPath);
  const content = file === undefined ? undefined : await readFile(join(filesFolder(), file)).catch(() => undefined);
  if (file === undefined || content === undefined) return withStandardHeaders(await missingPath(event), event);
  const type = mediaTypes[extname(file)] ?? "application/octet-stream";
  const text = content.toString("utf8");
  const body = event.rawPath === cardPath ? text.replaceAll("{address}", addressOf(event)) : text;
  const headers = { etag: `W/${etagOf(body)}`, vary: "accept-encoding", ...(await pageHeaders(event.rawPath)) };
  const clientTags = parseTags(event.headers["if-none-match"] ?? "");
  if (clientTags && hasTagWeakly(clientTags, etagOf(body)))
    return withStandardHeaders({ statusCode: 304, headers }, event);
  return withStandardHeaders({ statusCode: 200, headers: { "content-type": type, ...headers }, body }, event);
};
