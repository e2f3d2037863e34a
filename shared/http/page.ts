import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { notFound } from "../core/errors.ts";
import { failureResponse, requestIdOf, type Response } from "./response.ts";

/**
 * The content security policy of a page. The page loads files from this server only. `connect` adds origins for
 * `fetch`, with a space before each.
 */
export const pagePolicy = ({ connect = "" }: { connect?: string } = {}): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

/** The folder of the files that are deployed beside the handler. */
export const filesFolder = (): string => process.env["DOCS_DIR"] ?? process.env["LAMBDA_TASK_ROOT"] ?? ".";

/**
 * Answers 404 for a path that does not exist: with an HTML page for browsers if the page is deployed, else with a
 * problem.
 */
export async function missingPath(event: APIGatewayProxyEventV2): Promise<Response> {
  const problem = failureResponse(notFound(), requestIdOf(event));
  const isBrowser = (event.headers["accept"] ?? "").includes("text/html");
  const page = isBrowser
    ? await readFile(join(filesFolder(), "not-found.html"), "utf8").catch(() => undefined)
    : undefined;
  if (page === undefined) return problem;
  const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": pagePolicy() };
  return { ...problem, headers, body: page };
}
