import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { failureResponse, requestIdOf, sealed, type Response } from "../shared/answer.ts";
import { notFound } from "../shared/errors.ts";

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The file behind a path: the document, or one flat file of the pages; a name with a slash or a dot first is none. */
function fileOf(path: string): string | undefined {
  if (path === "/v1/public/openapi.json") return "openapi.json";
  if (path === "/docs") return "docs/index.html";
  const name = /^\/docs\/([a-z0-9][a-z0-9.-]*)$/.exec(path)?.[1];
  return name === undefined ? undefined : `docs/${extname(name) === "" ? `${name}.html` : name}`;
}

/** Serves the OpenAPI document and the reference pages, which lie beside the bundle. */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  const requestId = requestIdOf(event);
  const folder = process.env["DOCS_DIR"] ?? process.env["LAMBDA_TASK_ROOT"] ?? ".";
  const file = fileOf(event.rawPath);
  const content = file === undefined ? undefined : await readFile(join(folder, file)).catch(() => undefined);
  if (file === undefined || content === undefined) return sealed(failureResponse(notFound(), requestId), requestId);
  const type = mediaTypes[extname(file)] ?? "application/octet-stream";
  const isText = !type.startsWith("image/");
  const headers = { "content-type": type, "cache-control": "public, max-age=300", "content-security-policy": policy };
  return sealed(
    { statusCode: 200, headers, body: content.toString(isText ? "utf8" : "base64"), isBase64Encoded: !isText },
    requestId,
  );
};
