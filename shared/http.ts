import { json, type Response } from "./answer.ts";
import { Problem } from "./errors.ts";
import { hasTag, parseTags, requireMatch, tagOf } from "./etag.ts";
import { fromStrings } from "./input.ts";
import { invoke, type Outcome } from "./invoke.ts";
import { checkFit } from "./json-body.ts";
import { lambda, type Handler } from "./lambda.ts";
import type { Route } from "./route.ts";

/** The Lambda handler of a route: payload 2.0 event → `invoke` → JSON answer. */
export const http = (route: Route): Handler =>
  lambda(
    route.name,
    async (request, door) => {
      const { headers } = request;
      const raw = {
        params: fromStrings(route.params, new URLSearchParams(request.pathParameters as Record<string, string>)),
        query: fromStrings(route.query, queryOf(request.rawQueryString)),
        body: request.body === undefined && takesNothing(route) ? {} : request.body,
        headers: { "idempotency-key": headers["idempotency-key"], "if-match": headers["if-match"] },
      };
      return respond(route, await invoke(route, raw, door), headers);
    },
    { public: route.public, checkBody: checkFit },
  );

/** The members of a query string; 400 for escapes that are no UTF-8. A second `?` belongs to the first name. */
function queryOf(raw: string): URLSearchParams {
  try {
    decodeURIComponent(raw);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new Problem("malformed_request", "The query string has an escape that is not UTF-8.");
  }
  return new URLSearchParams(`?${raw}`);
}

/** Whether a request without a body is as good as one with an empty object. */
const takesNothing = (route: Route): boolean => route.body.safeParse({}).success;

type Headers = Record<string, string | undefined>;

/** Whether a media type is what a request asks for by name (RFC 9110 §12.5.1); JSON is what it gets otherwise. */
const asksFor = ({ accept = "" }: Headers, type: string): boolean =>
  accept.split(",").some((range) => range.split(";")[0]?.trim().toLowerCase() === type);

function respond(route: Route, { input, output, replayed }: Outcome, sent: Headers): Response {
  const text = route.text && asksFor(sent, route.text.type) ? route.text.of(output) : undefined;
  if (route.text && text !== undefined) {
    return { statusCode: route.status, headers: { "content-type": `${route.text.type}; charset=utf-8` }, body: text };
  }
  const ifNoneMatch = sent["if-none-match"];
  const etag = route.etag && route.method !== "DELETE" ? { etag: tagOf(route.etag, output) } : undefined;
  if (etag && route.method === "GET") {
    requireMatch(input.headers.ifMatch, output);
    const known = ifNoneMatch === undefined ? undefined : parseTags(ifNoneMatch);
    if (known !== undefined && hasTag(known, etag.etag, true)) return { statusCode: 304, headers: etag };
  }
  return json(route.status, output, {
    ...etag,
    ...(route.location === undefined ? {} : { location: fill(route.location, input.params, output) }),
    ...(replayed ? { "idempotency-replayed": "true" } : {}),
  });
}

/** Fills a path template with the members of the path and of what was created. */
function fill(template: string, params: Record<string, unknown>, output: unknown): string {
  const members: Record<string, unknown> = { ...params, ...(output as Record<string, unknown>) };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(members[name])));
}
