import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

export type Match<T> = { target: T; routeKey: string; pathParameters: Record<string, string> };

type Segment = { kind: "literal" | "parameter" | "greedy"; text: string };
/** A trigger, ready for matching. Two triggers with the same `shape` match the same requests. */
type Compiled<T> = { routeKey: string; method: string; segments: Segment[]; shape: string; target: T };

const rank = { literal: 0, parameter: 1, greedy: 2 };

function segmentOf(part: string): Segment {
  const name = /^\{([^{}]+)\}$/.exec(part)?.[1];
  if (name === undefined) return { kind: "literal", text: part };
  return name.endsWith("+") ? { kind: "greedy", text: name.slice(0, -1) } : { kind: "parameter", text: name };
}

function compile<T>(trigger: string, target: T): Compiled<T> {
  const [, method, path] = /^([A-Z]+) \/(.*)$/.exec(trigger) ?? [];
  if (method === undefined || path === undefined) throw new Error(`"${trigger}" is not a trigger`);
  const segments = path.split("/").map(segmentOf);
  const shape = segments.map(({ kind, text }) => (kind === "literal" ? text : `{${kind}}`));
  return { routeKey: trigger, method, segments, shape: `${method} /${shape.join("/")}`, target };
}

/**
 * Sorts triggers by their first segments of different kinds: a literal comes before a parameter, and a parameter before
 * a greedy parameter. If no segments differ in kind, the trigger with more segments comes first.
 */
function moreSpecificFirst(a: Compiled<unknown>, b: Compiled<unknown>): number {
  const differing = a.segments.findIndex((segment, index) => segment.kind !== b.segments[index]?.kind);
  const [left, right] = [a.segments[differing], b.segments[differing]];
  return left && right ? rank[left.kind] - rank[right.kind] : b.segments.length - a.segments.length;
}

function parametersOf(segments: Segment[], parts: string[]): Record<string, string> | undefined {
  const parameters: [string, string][] = [];
  for (const [index, { kind, text }] of segments.entries()) {
    const part = parts[index] ?? "";
    if (kind === "greedy") parameters.push([text, parts.slice(index).join("/")]);
    else if (kind === "literal" ? part !== text : part === "") return undefined;
    else if (kind === "parameter") parameters.push([text, part]);
  }
  return Object.fromEntries(parameters);
}

/**
 * Creates a function that finds the trigger for a request, with the rules of API Gateway's HTTP APIs.
 * - The method must be equal.
 * - A literal segment takes precedence over `{name}`, and `{name}` over `{name+}`. `$default` matches requests that
 *   match no other trigger.
 * - `path` is the decoded path of the event. A slash at the end or a double slash gives an empty segment. `{name}` does
 *   not match an empty segment.
 * - Throws for a malformed trigger, and for two triggers that match the same requests.
 */
export function createMatcher<T>(
  triggers: readonly { trigger: string; target: T }[],
): (method: string, path: string) => Match<T> | undefined {
  const fallback = triggers.find(({ trigger }) => trigger === "$default");
  const compiled = triggers
    .filter(({ trigger }) => trigger !== "$default")
    .map(({ trigger, target }) => compile(trigger, target))
    .toSorted(moreSpecificFirst);
  const byShape = new Map<string, string>();
  for (const { shape, routeKey } of compiled) {
    const other = byShape.get(shape);
    if (other !== undefined) throw new Error(`"${other}" and "${routeKey}" match the same requests`);
    byShape.set(shape, routeKey);
  }
  const methods = new Set(compiled.map(({ method }) => method));
  const longest = Math.max(0, ...compiled.map(({ segments }) => segments.length));
  const cached = new Map<string, Compiled<T>[]>();
  /** The triggers of a method for paths with `count` segments. */
  const candidates = (method: string, count: number): Compiled<T>[] => {
    // All counts above `longest` have the same triggers, which are greedy.
    const key = `${method} ${Math.min(count, longest + 1)}`;
    const matching =
      cached.get(key) ??
      compiled.filter(({ method: wanted, segments }) => {
        const isGreedy = segments.at(-1)?.kind === "greedy";
        return wanted === method && (isGreedy ? count >= segments.length : count === segments.length);
      });
    // A client can invent any number of methods. Without this condition, each new method would make the cache larger.
    if (methods.has(method)) cached.set(key, matching);
    return matching;
  };
  return (method, path) => {
    const parts = path.split("/").slice(1);
    for (const { routeKey, segments, target } of candidates(method, parts.length)) {
      const pathParameters = parametersOf(segments, parts);
      if (pathParameters) return { target, routeKey, pathParameters };
    }
    return fallback && { target: fallback.target, routeKey: "$default", pathParameters: {} };
  };
}

/** The parts of a request target (RFC 9112 §3.2). */
export type Target = {
  /** The authority of a target in absolute form. This authority overrides the header Host (RFC 9112 §3.2.2). */
  authority?: string;
  /** The path as it was sent, percent-encoded. */
  encodedPath: string;
  /** The path, decoded in the same way as by API Gateway. */
  path: string;
  /** The query as it was sent, without the question mark. */
  query: string;
};

/** Thrown for a target that API Gateway answers with 400. */
export class BadTarget extends Error {}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new BadTarget(`"${text}" is not validly percent-encoded`);
  }
}

/**
 * Decodes a path in the same way as HTTP APIs decode `rawPath`: decodes it once, cuts it at a question mark, and
 * decodes it again. So `%2F` becomes a separator, and `%3F` ends the path. A `%25` that does not begin a second escape
 * is refused. Live captures of July 2026 show this behaviour (hotsock/voker, `vokerhttp/testdata/ingress-paths.json`).
 */
const decodePath = (encoded: string): string => decode(decode(encoded).replace(/\?.*$/s, ""));

/**
 * Parses a request target. Throws `BadTarget` if the target is in neither origin form nor absolute form, and for
 * malformed escapes in the path.
 */
export function parseTarget(target: string): Target {
  const form = /^(?:https?:\/\/(?<authority>[^/?]+))?(?<path>\/[^?]*)?(?:\?(?<query>.*))?$/i.exec(target)?.groups;
  if (!form || (form["authority"] === undefined && form["path"] === undefined)) {
    throw new BadTarget("The request target is neither a path nor an http URL");
  }
  const encodedPath = form["path"] ?? "/";
  return {
    encodedPath,
    path: decodePath(encodedPath),
    query: form["query"] ?? "",
    ...(form["authority"] === undefined ? {} : { authority: form["authority"] }),
  };
}

/**
 * The parameters of a query string. Decodes names and values, with `+` as a space. Joins the values of a repeated name
 * with commas. Throws `BadTarget` for malformed escapes.
 */
export function parseQuery(query: string): Record<string, string> {
  const parameters = new Map<string, string>();
  for (const piece of query.split("&").filter((text) => text !== "")) {
    const [name = "", ...rest] = piece.replaceAll("+", " ").split("=");
    const [key, value] = [decode(name), decode(rest.join("="))];
    const earlier = parameters.get(key);
    parameters.set(key, earlier === undefined ? value : `${earlier},${value}`);
  }
  return Object.fromEntries(parameters);
}

/** A received request. The names of its headers are in lower case. */
export type WireRequest = {
  method: string;
  httpVersion: string;
  headers: ReadonlyMap<string, string>;
  sourceIp: string;
  port: number;
  body: Buffer;
};

/** The headers that belong to a single connection (RFC 9110 §7.6.1). A gateway forwards them in neither direction. */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Collects headers by lower-case name. Joins the values of a repeated header with commas, and cookies with semicolons.
 */
export function collectHeaders(rawHeaders: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    const value = rawHeaders[index + 1] ?? "";
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}${name === "cookie" ? "; " : ","}${value}`);
  }
  return headers;
}

/** Whether the event contains a body of this content type as text. The event contains any other body as base64. */
const isText = (contentType: string | undefined): boolean =>
  /^(?:text\/[^;\s]+|application\/(?:json|javascript|xml))\s*(?:;|$)/i.test(contentType ?? "");

/** The time in the Common Log Format, such as `10/Jul/2026:19:19:05 +0000`. */
function clfTime(now: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(now.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

/** Returns a random id in the form of API Gateway's request ids: 15 characters of base64 and an equals sign. */
const requestIdOf = (): string => randomBytes(11).toString("base64");

function addForwardingHeaders(headers: Map<string, string>, { sourceIp, port, body }: WireRequest): void {
  const before = headers.get("x-forwarded-for");
  headers.set("x-forwarded-for", before === undefined ? sourceIp : `${before}, ${sourceIp}`);
  headers.set("x-forwarded-port", String(port));
  headers.set("x-forwarded-proto", "http");
  headers.set("content-length", String(body.length));
}

/**
 * Encodes the body for the event. A text that is not valid UTF-8 becomes base64, so handlers can recognise and refuse
 * it. API Gateway replaces the invalid bytes with U+FFFD instead.
 */
function bodyOf(body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  const isValidText = isText(contentType) && isUtf8(body);
  return { body: body.toString(isValidText ? "utf8" : "base64"), isBase64Encoded: !isValidText };
}

/**
 * Builds the Lambda event of an API Gateway HTTP API, in payload format 2.0. Leaves optional members out if they are
 * empty, like API Gateway. Throws `BadTarget` for a malformed query string.
 */
export function buildEvent(
  request: WireRequest,
  target: Target,
  { routeKey, pathParameters }: Pick<Match<unknown>, "routeKey" | "pathParameters">,
  now: Date,
): APIGatewayProxyEventV2 {
  const headers = new Map(request.headers);
  const host = target.authority ?? headers.get("host") ?? "localhost";
  headers.set("host", host);
  const cookie = headers.get("cookie");
  const cookies = cookie === undefined ? [] : cookie.split(";").flatMap((one) => one.trim() || []);
  for (const name of ["cookie", ...connectionHeaders]) headers.delete(name);
  addForwardingHeaders(headers, request);
  const query = parseQuery(target.query);
  const domainName = host.replace(/:\d+$/, "");
  return {
    version: "2.0",
    routeKey,
    rawPath: target.path,
    rawQueryString: target.query,
    ...(cookies.length === 0 ? {} : { cookies }),
    headers: Object.fromEntries(headers),
    ...(Object.keys(query).length === 0 ? {} : { queryStringParameters: query }),
    requestContext: {
      accountId: "000000000000",
      apiId: "local",
      domainName,
      domainPrefix: domainName.split(".")[0] ?? domainName,
      http: {
        method: request.method,
        path: target.path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.sourceIp,
        userAgent: headers.get("user-agent") ?? "",
      },
      requestId: requestIdOf(),
      routeKey,
      stage: "$default",
      time: clfTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(pathParameters).length === 0 ? {} : { pathParameters }),
    ...bodyOf(request.body, headers.get("content-type")),
  };
}
