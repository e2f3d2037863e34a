import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

export type Match<T> = { target: T; routeKey: string; pathParameters: Record<string, string> };

type Segment = { kind: "literal" | "parameter" | "greedy"; text: string };
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
 * Creates a function that finds the trigger for a request, by the rules of API Gateway HTTP APIs.
 * - The method must be equal.
 * - A literal segment wins over `{name}`, which wins over `{name+}`. `$default` takes the requests that match nothing
 *   else.
 * - `path` is the decoded path of the event. A trailing or doubled slash is an empty segment, which matches no
 *   `{name}`.
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
    const key = `${method} ${Math.min(count, longest + 1)}`;
    const matching =
      cached.get(key) ??
      compiled.filter(({ method: wanted, segments }) => {
        const isGreedy = segments.at(-1)?.kind === "greedy";
        return wanted === method && (isGreedy ? count >= segments.length : count === segments.length);
      });
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
  /** The authority of an absolute-form target, which overrides the Host header (RFC 9112 §3.2.2). */
  authority?: string;
  /** As sent, percent-encoded. */
  encodedPath: string;
  /** Decoded as API Gateway does it. */
  path: string;
  /** As sent, without the question mark. */
  query: string;
};

/** A target that API Gateway answers with 400. */
export class BadTarget extends Error {}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new BadTarget(`"${text}" is not validly percent-encoded`);
  }
}

/**
 * Decodes a path as HTTP APIs do for `rawPath`: twice, cut at a question mark in between, as seen in live captures of
 * July 2026 (hotsock/voker, `vokerhttp/testdata/ingress-paths.json`). So `%2F` becomes a separator, `%3F` ends the
 * path, and a `%25` that does not begin a second escape is refused.
 */
const decodePath = (encoded: string): string => decode(decode(encoded).replace(/\?.*$/s, ""));

/** Throws `BadTarget` for anything but origin-form and absolute-form, and for malformed escapes in the path. */
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
 * The parameters of a query string: names and values decoded (`+` is a space), repeated names joined by
 * commas. Throws `BadTarget` for malformed escapes.
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

/** A request as received, with its headers by lower-case name. */
export type WireRequest = {
  method: string;
  httpVersion: string;
  headers: ReadonlyMap<string, string>;
  sourceIp: string;
  port: number;
  body: Buffer;
};

/** Headers of a single connection (RFC 9110 §7.6.1), which a gateway forwards in neither direction. */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Collects headers by lower-case name. Repeated headers are joined by commas, cookies by semicolons. */
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

/** Tells whether a body of this content type is passed as text. Any other body is passed as base64. */
const isText = (contentType: string | undefined): boolean =>
  /^(?:text\/[^;\s]+|application\/(?:json|javascript|xml))\s*(?:;|$)/i.test(contentType ?? "");

/** `10/Jul/2026:19:19:05 +0000`, the time format of the Common Log Format. */
function clfTime(now: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(now.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

/** An id in the format of API Gateway's request ids: 15 characters of base64 and an equals sign. */
const requestIdOf = (): string => randomBytes(11).toString("base64");

function addForwardingHeaders(headers: Map<string, string>, { sourceIp, port, body }: WireRequest): void {
  const before = headers.get("x-forwarded-for");
  headers.set("x-forwarded-for", before === undefined ? sourceIp : `${before}, ${sourceIp}`);
  headers.set("x-forwarded-port", String(port));
  headers.set("x-forwarded-proto", "http");
  headers.set("content-length", String(body.length));
}

/**
 * Encodes the body for the event. A text that is not UTF-8 becomes base64, so that handlers recognise and refuse it.
 * API Gateway replaces its invalid bytes by U+FFFD instead.
 */
function bodyOf(body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  const text = isText(contentType) && isUtf8(body);
  return { body: body.toString(text ? "utf8" : "base64"), isBase64Encoded: !text };
}

/**
 * Builds the Lambda event of an API Gateway HTTP API, payload format 2.0. Like API Gateway it omits empty members.
 * Throws `BadTarget` for a malformed query string.
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
