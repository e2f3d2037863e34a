import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { Problem } from "../shared/core/errors.ts";
import { filesFolder, missingPath } from "../shared/http/page.ts";
import {
  type Response,
  failureResponse,
  redirectToDocs,
  requestIdOf,
  withStandardHeaders,
} from "../shared/http/response.ts";

/** The methods that each path template allows. The build writes them to `methods.json` beside the bundle. */
type Methods = Record<string, string[]>;

let methods: Methods | undefined;

function allowedMethods(path: string): string[] {
  methods ??= JSON.parse(readFileSync(join(filesFolder(), "methods.json"), "utf8")) as Methods;
  const matching = Object.entries(methods).filter(([template]) => patternOf(template).test(path));
  const allowed = new Set(matching.flatMap(([, names]) => names));
  return allowed.size === 0 ? [] : [...allowed, "OPTIONS"];
}

/**
 * A pattern for the paths of a template. A parameter matches one segment. A greedy parameter (`{name+}`) matches the
 * rest of the path.
 */
const patternOf = (template: string): RegExp => {
  const literal = template.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  const pattern = literal.replace(/\{\w+\\\+\}/g, ".+").replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${pattern}$`);
};

/**
 * Answers requests that match no route:
 * - GET or HEAD of `/`, or of a page's path with a slash added at the end: a redirect to the page
 * - OPTIONS of a known path: 204; the gateway adds the CORS headers of a preflight if origins are configured
 * - another method of a known path: 405 with `Allow`
 * - everything else: the same 404 as for a missing resource, and for browsers a page
 */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  const requestId = requestIdOf(event);
  const redirect = redirectToDocs(event);
  if (redirect) return withStandardHeaders(redirect, event);
  const allow = allowedMethods(event.rawPath);
  if (allow.length > 0 && event.requestContext.http.method === "OPTIONS") {
    return withStandardHeaders({ statusCode: 204, headers: { allow: allow.join(", ") } }, event);
  }
  if (allow.length === 0) return withStandardHeaders(await missingPath(event), event);
  const problem = new Problem("method_not_allowed", `This path supports ${allow.join(", ")}.`, { allow });
  return withStandardHeaders(failureResponse(problem, requestId), event);
};
