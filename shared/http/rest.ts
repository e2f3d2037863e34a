import { Problem } from "../core/errors.ts";
import { hasTagWeakly, parseTags, requireMatch, tagOf } from "../core/etag.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { fromStrings } from "./input.ts";
import { chargeUnread, invoke, type InvokeResult } from "./invoke.ts";
import { checkFit } from "./json-body.ts";
import { lambda, type LambdaHandler, type Request } from "./lambda.ts";
import { weightOfType } from "./negotiation.ts";
import { json, type Response } from "./response.ts";
import type { Route } from "./route.ts";

/**
 * The Lambda handler of a route: payload 2.0 event → `invoke` → answer. The answer is JSON, a file, or an empty 304 if
 * the client has the resource already. Answers of a deprecated route have the headers of `deprecationHeaders`.
 */
export function http(route: Route): LambdaHandler {
  const handler = lambda(
    route.name,
    async (request, invocation) => {
      const { headers } = request;
      const raw = {
        params: paramsOf(route, request),
        query: fromStrings(route.query, queryOf(request.rawQueryString)),
        isFromUrl: true as const,
        body: request.body === undefined && acceptsEmptyBody(route) ? {} : request.body,
        headers: { "idempotency-key": headers["idempotency-key"], "if-match": headers["if-match"] },
      };
      const wantsFile = isFileWanted(route, headers);
      return respond(route, await invoke(route, raw, { ...invocation, wantsFile }), headers, wantsFile);
    },
    {
      public: route.public,
      invokes: true,
      checkBody: checkFit,
      chargeUnread: (request, invocation) => chargeUnread(route, paramsOf(route, request), invocation),
      schemas: [route.params, route.query, route.body, route.output],
    },
  );
  return route.deprecated ? announcing(handler, deprecationHeaders(route.name, route.deprecated)) : handler;
}

const paramsOf = (route: Route, { pathParameters }: Pick<Request, "pathParameters">): Record<string, unknown> =>
  fromStrings(route.params, new URLSearchParams(pathParameters as Record<string, string>));

/** Wraps a handler. Adds the headers `more` to all its answers, including errors. */
const announcing = (handler: LambdaHandler, more: Record<string, string>): LambdaHandler =>
  Object.assign(
    async (...given: Parameters<LambdaHandler>) => {
      const answer = await handler(...given);
      return { ...answer, headers: { ...answer.headers, ...more } };
    },
    { prime: handler.prime },
  );

/** Parses a query string. Throws 400 for a `%` that does not begin a valid UTF-8 escape. */
function queryOf(raw: string): URLSearchParams {
  try {
    decodeURIComponent(raw);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new Problem("malformed_request", "The query string has a % that does not begin a valid UTF-8 escape.");
  }
  // URLSearchParams drops one leading `?`, so one is added.
  return new URLSearchParams(`?${raw}`);
}

/** Whether the route accepts an empty object. If so, a request without a body counts as an empty object. */
const acceptsEmptyBody = (route: Route): boolean => route.body.safeParse({}).success;

type RequestHeaders = Record<string, string | undefined>;
type ResponseHeaders = Record<string, string>;

/** Whether a request gets the route's file, by its `Accept` (RFC 9110 §12.5.1). */
function isFileWanted({ http: { file } }: Route, { accept = "" }: RequestHeaders): boolean {
  if (!file) return false;
  const [fileWeight, jsonWeight] = [weightOfType(accept, file.type), weightOfType(accept, "application/json")];
  return file.onlyIfPreferred ? fileWeight > jsonWeight : fileWeight >= jsonWeight;
}

/** The answer as a file; undefined if the route or this output has no file. */
function asFile({ http: { file, status } }: Route, output: unknown, headers: ResponseHeaders): Response | undefined {
  const content = file?.of(output);
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

function respond(
  route: Route,
  { input, output, replayed }: InvokeResult,
  sent: RequestHeaders,
  wantsFile: boolean,
): Response {
  const { etag: schemas, method } = route.http;
  const tagHeader = schemas && method !== "DELETE" ? { etag: tagOf(schemas, output) } : undefined;
  if (tagHeader && method === "GET") {
    // A write has compared `If-Match` itself, usually in its transaction.
    requireMatch(input.headers.ifMatch, output);
    const cachedTags = sent["if-none-match"] === undefined ? undefined : parseTags(sent["if-none-match"]);
    if (cachedTags !== undefined && hasTagWeakly(cachedTags, tagHeader.etag))
      return { statusCode: 304, headers: tagHeader };
  }
  const isAccepted = route.http.later?.is(output) ?? false;
  const isDryRun = route.http.isDryRun?.(output) ?? false;
  const status = isDryRun ? 200 : route.http.status;
  const created = isDryRun ? undefined : route.http.location;
  const location = isAccepted ? route.http.later?.location : created;
  const headers: ResponseHeaders = {
    ...tagHeader,
    ...(route.http.file ? { vary: "accept" } : {}),
    ...(location === undefined ? {} : { location: fill(location, input.params, output) }),
    ...(replayed ? { "idempotency-replayed": "true" } : {}),
  };
  const file = wantsFile ? asFile(route, output, headers) : undefined;
  return file ?? json(isAccepted ? 202 : status, output, headers);
}

/**
 * Fills a path template with the members of the path and of the output. If both have a member with the same name, the
 * output's member wins.
 */
function fill(template: string, params: Record<string, unknown>, output: unknown): string {
  const members: Record<string, unknown> = { ...params, ...(output as Record<string, unknown>) };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(members[name])));
}
