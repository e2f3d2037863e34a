import fc from "fast-check";
import { expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { openApiDocument } from "../../../infra/openapi/document.ts";
import { parseTags } from "../../../shared/core/etag.ts";
import type { Route } from "../../../shared/http/route.ts";
import { limitClasses } from "../../../shared/rate-limits/classes.ts";
import { callRest } from "../../support/call.ts";
import { exampleOf } from "../../support/examples.ts";
import { newAccount } from "../../support/world.ts";

type Link = { operationId: string; parameters: Record<string, string> };
type Operation = {
  description: string;
  parameters?: { in: string; name: string; required?: boolean; description: string; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<
    string,
    { description: string; headers: object; content?: Record<string, unknown>; links?: Record<string, Link> }
  >;
};
const document = openApiDocument() as {
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};

/** A method and a path of the document. */
type Endpoint = Pick<Route["http"], "method" | "path">;

function operationOf({ method, path }: Endpoint): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`the document has no ${method} ${path}`);
  return operation;
}

const headersOf = (endpoint: Endpoint): string[] =>
  (operationOf(endpoint).parameters ?? []).flatMap((parameter) => (parameter.in === "header" ? [parameter.name] : []));

const named = routes.map((route) => [route.name, route] as const);

test.each(named)("%s documents the request header fields that it uses, and no others", (_, route) => {
  const { method, etag } = route.http;
  expect(headersOf(route.http)).toEqual([
    "X-Request-Id",
    ...(method === "POST" ? ["Idempotency-Key"] : []),
    ...(etag ? ["If-Match"] : []),
    ...(etag && method === "GET" ? ["If-None-Match"] : []),
  ]);
});

test.each(named)("%s documents the answers that the core gives", (_, route) => {
  const { responses } = operationOf(route.http);
  const codes = Object.values(responses)
    .flatMap(({ description }) => [...description.matchAll(/`(\w+)`:/g)])
    .map(([, code]) => code);
  const isPost = route.http.method === "POST";
  expect(codes).toContain("rate_limited");
  expect(codes.includes("idempotency_in_flight")).toBe(isPost);
  expect(codes.includes("secret_already_shown")).toBe(
    (isPost && route.shownOnce.length > 0) || route.problems.includes("secret_already_shown"),
  );
  expect(codes).toContain("precondition_failed");
  expect("304" in responses).toBe(route.http.etag !== undefined && route.http.method === "GET");
  expect(responses["429"]?.headers).toHaveProperty("Retry-After");
  expect(responses["503"]?.headers).toHaveProperty("Retry-After");
  if (route.public) expect(responses).not.toHaveProperty("401");
  else expect(responses["401"]?.headers).toHaveProperty("WWW-Authenticate");
});

test("Idempotency-Replayed is documented for a POST, unless every answer of the POST has a secret", () => {
  const mayRepeat = (name: string): boolean => {
    const route = routes.find((one) => one.name === name);
    if (!route) throw new Error(`${name} is gone`);
    return "Idempotency-Replayed" in (operationOf(route.http).responses[String(route.http.status)]?.headers ?? {});
  };
  expect(["credentials.add", "dedicated_ips.authorize", "workspaces.add"].map(mayRepeat)).toEqual([true, true, true]);
  expect(["webhooks.add", "mailboxes.reveal_credentials"].map(mayRepeat)).toEqual([false, false]);
});

test.each(named)("%s names its rate limit, and the document has the numbers of the limit", (_, route) => {
  const { perMinute, burst } = limitClasses[route.limit];
  expect(operationOf(route.http).description).toContain(`Rate limit: \`${route.limit}\`.`);
  expect(document.info.description).toContain(`| \`${route.limit}\` | ${perMinute} | ${burst} |`);
});

test("A2A documents Idempotency-Key; MCP documents its header fields and an answer without a body", () => {
  const a2a = { method: "POST", path: "/v1/public/a2a" } as const;
  const mcp = { method: "POST", path: "/v1/public/mcp" } as const;
  expect(headersOf(a2a)).toContain("Idempotency-Key");
  expect(headersOf(mcp)).not.toContain("Idempotency-Key");
  expect(operationOf(mcp).responses["202"]).not.toHaveProperty("content");
  expect(operationOf(mcp).responses["404"]?.content).toHaveProperty("application/json");
  expect(headersOf(mcp)).toEqual(expect.arrayContaining(["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]));
});

const creating = named.filter(([, { http }]) => http.location !== undefined);

/** The value of a runtime expression of OpenAPI. */
function valueOf(expression: string, given: Record<string, unknown>, answer: Record<string, unknown>): string {
  const [, ofPath, ofBody] = /^\$(?:request\.path\.(\w+)|response\.body#\/(\w+))$/.exec(expression) ?? [];
  return String(ofPath === undefined ? answer[ofBody ?? ""] : given[ofPath]);
}

/** The schemas of a part of the document, and of all components that it refers to. */
function schemasIn(node: unknown, seen = new Set<unknown>()): Record<string, unknown>[] {
  if (typeof node !== "object" || node === null || seen.has(node)) return [];
  seen.add(node);
  const { $ref } = node as { $ref?: unknown };
  const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(.+)$/.exec(typeof $ref === "string" ? $ref : "") ?? [];
  const target = document.components[kind]?.[name];
  return [node as Record<string, unknown>, ...[...Object.values(node), target].flatMap((one) => schemasIn(one, seen))];
}

test("an answer may have members that the document does not name, and the body of a function may not", () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const isClosed = (schema: Record<string, unknown>): boolean => schema["additionalProperties"] === false;
  expect(operations.flatMap(({ responses }) => schemasIn(responses)).filter(isClosed)).toEqual([]);
  const bodies = named.flatMap(([, { http }]) =>
    schemasIn(operationOf(http).requestBody?.content["application/json"]?.schema),
  );
  const objects = bodies.filter(({ type, properties }) => type === "object" && properties !== undefined);
  expect(objects.length).toBeGreaterThan(50);
  expect(objects.filter((one) => !isClosed(one))).toEqual([]);
});

test.each(creating)("%s links a created resource to its GET, as Location does", async (_, route) => {
  const account = await newAccount();
  const example = await exampleOf(route, account);
  const answer = await callRest(route, example, account.owner.token);
  const links = Object.values(operationOf(route.http).responses[String(route.http.status)]?.links ?? {});
  expect(links).toHaveLength(1);
  const [{ operationId, parameters }] = links as [Link];
  const reading = routes.find(({ name }) => name === operationId);
  const filled = reading?.http.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    valueOf(parameters[name] ?? "", example, answer.body),
  );
  expect([reading?.http.method, filled]).toEqual(["GET", answer.headers["location"]]);
});

test("the API understands every value that matches the documented pattern of If-Match", () => {
  const parameters = named.flatMap(([, route]) => operationOf(route.http).parameters ?? []);
  const { schema } = parameters.find(({ name }) => name === "If-Match") as { schema: { pattern: string } };
  fc.assert(
    fc.property(fc.stringMatching(new RegExp(schema.pattern)), (field) => {
      expect(parseTags(field)).toBeDefined();
    }),
  );
  for (const field of ['"a', "a", '"a" "b"', "", "*, *"]) expect(field).not.toMatch(new RegExp(schema.pattern));
});

test("the document accepts any X-Request-Id, and says that values of another form are replaced", () => {
  for (const [, route] of named) {
    const field = operationOf(route.http).parameters?.find(({ name }) => name === "X-Request-Id");
    expect(Object.keys(field?.schema ?? {}).toSorted()).toEqual(["description", "type"]);
    expect(field?.description).toMatch(/1 to 128 visible ASCII.*replaced/);
  }
});
