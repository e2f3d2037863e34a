import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { routes } from "../../functions/routes.ts";
import { type LambdaSpec, lambdas, requestsTo } from "../../infra/entry-points.ts";
import { buildEvent, collectHeaders, createMatcher, parseTarget } from "../../infra/local/server/event.ts";
import { clientNetwork } from "../../shared/core/ip.ts";
import type { Handler } from "../../shared/http/lambda.ts";
import type { Response } from "../../shared/http/response.ts";
import { checkContract } from "./contract.ts";
import { afterCommits } from "./table-calls.ts";

const match = createMatcher(
  lambdas.flatMap((target) => requestsTo(target.triggers).map((trigger) => ({ trigger, target }))),
);

export type Sent = { token?: string | undefined; body?: unknown; headers?: Record<string, string> };
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever came back and asserts its shape
export type Answer = { status: number; headers: Record<string, string>; body: any; text: string };

/** The statuses of answers in ascending order, for answers that came in any order. */
export const statusesOf = (answers: readonly { status: number }[]): number[] =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other);

const handlers = new Map<string, Promise<{ handler: Handler }>>();

/** The handler that a Lambda's file exports. */
export async function handlerOf({ file }: Pick<LambdaSpec, "file">): Promise<Handler> {
  const module =
    handlers.get(file) ?? (import(resolve(import.meta.dirname, "../..", file)) as Promise<{ handler: Handler }>);
  handlers.set(file, module);
  return (await module).handler;
}

/**
 * Makes a network from a text. A request without a credential is limited by its network, so each body gets a network of
 * its own.
 */
const networkFor = (text: string): string =>
  `2001:db8:${createHash("sha256").update(text).digest("hex").slice(0, 8).replace(/^.{4}/, "$&:")}::1`;

/** The caller that the rate limit sees for this body, at a route without a credential. */
export const strangerFor = (body: unknown): string => `ip/${clientNetwork(networkFor(JSON.stringify(body)))}`;

function textOf(body: unknown): string {
  if (body === undefined) return "";
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The event that API Gateway would build for a request. A string body is sent as it is, and any other body as JSON. */
export function eventOf(method: string, target: string, sent: Sent = {}): APIGatewayProxyEventV2 {
  const text = textOf(sent.body);
  const headers: Record<string, string> = {
    host: "127.0.0.1:8080",
    ...(sent.token === undefined ? {} : { authorization: `Bearer ${sent.token}` }),
    ...(text === "" ? {} : { "content-type": "application/json" }),
    ...sent.headers,
  };
  const parsed = parseTarget(target);
  const matched = match(method, parsed.path);
  if (!matched) throw new Error(`nothing takes ${method} ${target}`);
  const isPublic = routes.some((route) => route.public && route.name === matched.target.name);
  const sourceIp = isPublic ? networkFor(text) : "127.0.0.1";
  const wire = { httpVersion: "1.1", sourceIp, port: 8080, body: Buffer.from(text) };
  return buildEvent(
    { ...wire, method, headers: collectHeaders(Object.entries(headers).flat()) },
    parsed,
    matched,
    new Date(),
  );
}

/**
 * Sends a request through the Lambda handler that the gateway would choose. Throws for an answer that the
 * OpenAPI document does not promise.
 */
export async function request(method: string, target: string, sent: Sent = {}): Promise<Answer> {
  const matched = match(method, parseTarget(target).path);
  if (!matched) throw new Error(`nothing takes ${method} ${target}`);
  const handler = await handlerOf(matched.target);
  await afterCommits();
  const answer = answerOf(await handler(eventOf(method, target, sent)));
  // The OpenAPI document describes neither the pages of the documentation nor answers whose form other standards
  // define.
  if (matched.target.name !== "docs" && !matched.routeKey.includes("/.well-known/")) {
    checkContract(matched.routeKey.replace(/^HEAD/, "GET"), answer);
  }
  return answer;
}

function decoded(bytes: Buffer, coding: unknown): Buffer {
  if (coding === "br") return brotliDecompressSync(bytes);
  return coding === "gzip" ? gunzipSync(bytes) : bytes;
}

/** The answer of a Lambda, as a client reads it. */
export function answerOf(response: Response): Answer {
  const { headers: { "content-encoding": coding } = {}, isBase64Encoded = false } = response;
  const bytes = Buffer.from(response.body ?? "", isBase64Encoded ? "base64" : "utf8");
  const text = decoded(bytes, coding).toString();
  const headers = Object.fromEntries(
    Object.entries(response.headers ?? {}).map(([name, value]) => [name, String(value)]),
  );
  const isJson = (headers["content-type"] ?? "").includes("json");
  return { status: response.statusCode ?? 200, headers, text, body: isJson ? JSON.parse(text) : text };
}
