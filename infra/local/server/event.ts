import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Match } from "./matcher.ts";
import { type Target, parseQuery } from "./target.ts";

/** A request as it came over the wire; `rawHeaders` alternates names and values, as node:http gives them. */
export type WireRequest = {
  method: string;
  httpVersion: string;
  rawHeaders: readonly string[];
  sourceIp: string;
  port: number;
  body: Buffer;
};

/** Headers of one connection (RFC 9110 §7.6.1), which a gateway neither hands on nor takes from a handler. */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Names in lower case, repeated headers joined by commas (cookies by semicolons). */
export function headersOf(rawHeaders: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    const value = rawHeaders[index + 1] ?? "";
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}${name === "cookie" ? "; " : ","}${value}`);
  }
  return headers;
}

/** The content types whose bodies arrive as text; everything else, and a body without one, is base64. */
const isText = (contentType: string | undefined): boolean =>
  /^(?:text\/[^;\s]+|application\/(?:json|javascript|xml))\s*(?:;|$)/i.test(contentType ?? "");

/** `10/Jul/2026:19:19:05 +0000`, the time format of the Common Log Format. */
function clfTime(now: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(now.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

/** An id of the shape API Gateway gives requests: 15 characters of base64 and an equals sign. */
const requestIdOf = (): string => randomBytes(11).toString("base64");

function forwarded(headers: Map<string, string>, { sourceIp, port, body }: WireRequest): void {
  const before = headers.get("x-forwarded-for");
  headers.set("x-forwarded-for", before === undefined ? sourceIp : `${before}, ${sourceIp}`);
  headers.set("x-forwarded-port", String(port));
  headers.set("x-forwarded-proto", "http");
  headers.set("content-length", String(body.length));
}

/**
 * What is no UTF-8 arrives as base64 too: API Gateway would put U+FFFD in its place, by which a handler can tell most such
 * bodies, and here it can tell all.
 */
function bodyOf(body: Buffer, contentType: string | undefined): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  const text = isText(contentType) && isUtf8(body);
  return { body: body.toString(text ? "utf8" : "base64"), isBase64Encoded: !text };
}

/**
 * The Lambda event of an API Gateway HTTP API, payload format 2.0. Members that API Gateway leaves out
 * when they are empty are left out here. Throws `BadTarget` for a malformed query string.
 */
export function buildEvent(
  request: WireRequest,
  target: Target,
  { routeKey, pathParameters }: Pick<Match<unknown>, "routeKey" | "pathParameters">,
  now: Date,
): APIGatewayProxyEventV2 {
  const headers = headersOf(request.rawHeaders);
  const host = target.authority ?? headers.get("host") ?? "localhost";
  headers.set("host", host);
  const cookies = (headers.get("cookie") ?? "")
    .split(";")
    .map((cookie) => cookie.trim())
    .filter(Boolean);
  for (const name of ["cookie", ...connectionHeaders]) headers.delete(name);
  forwarded(headers, request);
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
