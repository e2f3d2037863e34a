import { Problem } from "../core/errors.ts";
import { hasTag, parseTags, requireMatch, tagOf } from "../core/etag.ts";
import { fromStrings } from "./input.ts";
import { invoke, type InvokeResult } from "./invoke.ts";
import { checkFit } from "./json-body.ts";
import { lambda, type LambdaHandler } from "./lambda.ts";
import { weightOfType } from "./negotiation.ts";
import { json, type Response } from "./response.ts";
import type { Route } from "./route.ts";

/** The Lambda handler of a route: payload 2.0 event → `invoke` → JSON answer. */
export const http = (route: Route): LambdaHandler =>
  lambda(
    route.name,
    async (request, invocation) => {
      const { headers } = request;
      const raw = {
        params: fromStrings(route.params, new URLSearchParams(request.pathParameters as Record<string, string>)),
        query: fromStrings(route.query, queryOf(request.rawQueryString)),
        body: request.body === undefined && acceptsEmptyBody(route) ? {} : request.body,
        headers: { "idempotency-key": headers["idempotency-key"], "if-match": headers["if-match"] },
      };
      return respond(route, await invoke(route, raw, invocation), headers);
    },
    {
      public: route.public,
      invokes: true,
      checkBody: checkFit,
      schemas: [route.params, route.query, route.body, route.output],
    },
  );

/** Parses a query string. Throws 400 for an escape that is not UTF-8. A `?` in it is part of a name or value. */
function queryOf(raw: string): URLSearchParams {
  try {
    decodeURIComponent(raw);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new Problem("malformed_request", "The query string has an escape that is not UTF-8.");
  }
  return new URLSearchParams(`?${raw}`);
}

/** Whether the route accepts an empty object, so that a request may also have no body. */
const acceptsEmptyBody = (route: Route): boolean => route.body.safeParse({}).success;

type Headers = Record<string, string | undefined>;
type Fields = Record<string, string>;

/** Whether a request prefers JSON to the file (RFC 9110 §12.5.1). A request that accepts neither gets the file. */
const prefersJson = ({ accept = "" }: Headers, type: string): boolean =>
  weightOfType(accept, "application/json") > weightOfType(accept, type);

/** The answer as a file; undefined if the route has no file or the request prefers JSON. */
function asFile(
  { http: { file, status } }: Route,
  output: unknown,
  sent: Headers,
  headers: Fields,
): Response | undefined {
  const content = file && !prefersJson(sent, file.type) ? file.of(output) : undefined;
  if (!file || !content) return undefined;
  return {
    statusCode: status,
    headers: {
      ...headers,
      "content-type": `${file.type}; charset=utf-8`,
      "content-disposition": `attachment; filename="${content.name}"`,
    },
    body: content.text,
  };
}

function respond(route: Route, { input, output, replayed }: InvokeResult, sent: Headers): Response {
  const etag = route.http.etag && route.http.method !== "DELETE" ? { etag: tagOf(route.http.etag, output) } : undefined;
  if (etag && route.http.method === "GET") {
    requireMatch(input.headers.ifMatch, output);
    const known = sent["if-none-match"] === undefined ? undefined : parseTags(sent["if-none-match"]);
    if (known !== undefined && hasTag(known, etag.etag, true)) return { statusCode: 304, headers: etag };
  }
  const isAccepted = route.http.later?.is(output) ?? false;
  const location = isAccepted ? route.http.later?.location : route.http.location;
  const headers: Fields = {
    ...etag,
    ...(route.http.file ? { vary: "accept" } : {}),
    ...(location === undefined ? {} : { location: fill(location, input.params, output) }),
    ...(replayed ? { "idempotency-replayed": "true" } : {}),
  };
  return asFile(route, output, sent, headers) ?? json(isAccepted ? 202 : route.http.status, output, headers);
}

/** Fills a path template with the members of the path and of the output. */
function fill(template: string, params: Record<string, unknown>, output: unknown): string {
  const members: Record<string, unknown> = { ...params, ...(output as Record<string, unknown>) };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(members[name])));
}
