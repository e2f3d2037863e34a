import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type * as z from "zod";
import { createDocument, type CreateDocumentOptions, type ZodOpenApiOperationObject } from "zod-openapi";

import { functionsRoute } from "../../functions/code/handler.ts";
import { routes } from "../../functions/routes.ts";
import { productName } from "../../shared/core/product.ts";
import type { Route } from "../../shared/http/route.ts";
import { limitClasses } from "../../shared/rate-limits/classes.ts";
import { a2aBody, a2aHeaders, a2aRoute, mcpHeaders, mcpRoute } from "./code-mode.ts";
import { readWords } from "./command-line.ts";
import { addExamples, exampleComponents } from "./examples.ts";
import { headerComponents, requestHeaders } from "./headers.ts";
import { isPortable } from "./portable-pattern.ts";
import { responsesOf } from "./responses.ts";
import { families, specifiedRoutes } from "./routes.ts";

const capabilityNote = ({ capability, open }: Route): string =>
  capability === null ? `Needs no capability. ${open ?? ""}`.trim() : `Needs the capability \`${capability}\`.`;

/** The functions that are REST routes. */
const functions: readonly Route[] = [...routes, functionsRoute];

/**
 * Whether a route is an extension of the specification: a function that `specifiedRoutes` does not have with the same
 * method and path. The endpoints of code mode are not functions, so they never count as extensions.
 */
const isExtension = (route: Route): boolean =>
  functions.includes(route) && specifiedRoutes[route.name] !== `${route.http.method} ${route.http.path}`;

/** The request headers that only the endpoint of one protocol has. */
function protocolHeaders(route: Route): z.ZodRawShape {
  if (route === mcpRoute) return mcpHeaders.shape;
  return route === a2aRoute ? a2aHeaders.shape : {};
}

function operation(route: Route): ZodOpenApiOperationObject {
  const hasBody = Object.keys(route.body.shape).length > 0;
  const facts = { isFunction: functions.includes(route), isMcp: route === mcpRoute, functions };
  const notes = [
    isExtension(route) ? "An extension of the specification." : "",
    capabilityNote(route),
    `Rate limit: \`${route.limit}\`.`,
    facts.isFunction ? `Code mode: \`${route.name}\`.` : "",
  ];
  return {
    operationId: route.name,
    summary: route.summary,
    description: [route.description, ...notes].filter(Boolean).join("\n\n"),
    ...(route.public ? { security: [] } : {}),
    ...(route.deprecated ? { deprecated: true } : {}),
    ...(isExtension(route) ? { "x-extension": true } : {}),
    tags: [route.name.split(".")[0] ?? route.name],
    requestParams: {
      path: route.params,
      query: route.query,
      header: requestHeaders(route, facts.isFunction, route.http.method === "POST" && !facts.isMcp).extend(
        protocolHeaders(route),
      ),
    },
    ...(hasBody ? { requestBody: { required: needsBody(route), ...jsonBody(route) } } : {}),
    responses: responsesOf(route, facts),
  };
}

/** Whether a request needs a body. A request needs no body if an empty object is valid. */
const needsBody = (route: Route): boolean => !route.body.safeParse({}).success;

const jsonBody = (route: Route) => ({
  content: { "application/json": { schema: route === a2aRoute ? a2aBody : route.body } },
});

function paths(): Record<string, Record<string, ZodOpenApiOperationObject>> {
  const grouped: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of [...functions, a2aRoute, mcpRoute]) {
    (grouped[route.http.path] ??= {})[route.http.method.toLowerCase()] = operation(route);
  }
  return grouped;
}

/**
 * Throws for a pattern that only JavaScript can read. One such pattern makes tools in other languages refuse the whole
 * document.
 */
function requirePortable(pattern: string | undefined): void {
  if (pattern === undefined || isPortable(pattern)) return;
  throw new Error(
    `Only JavaScript can read the pattern ${pattern}. Check the rule with a function instead, and state the rule in the description.`,
  );
}

/**
 * Removes schema members that zod adds but readers do not need: patterns beside formats, and the bounds of safe
 * integers. Lets the objects of answers have further members (`additionalProperties`), because later versions add
 * members.
 */
const override: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema, io }) => {
  if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  requirePortable(jsonSchema.pattern);
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
};

/**
 * Removes `additionalProperties` beside references. If `override` removes this member from a schema, zod writes it
 * beside the references to the schema.
 */
function openReferences(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("$ref" in node && "additionalProperties" in node) delete node.additionalProperties;
  for (const member of Object.values(node)) openReferences(member);
}

/** The rate limits of the classes that routes use. The other classes only limit mail servers. */
const limitRows = Object.entries(limitClasses)
  .filter(([name]) => routes.some(({ limit }) => limit === name))
  .map(([name, { perMinute, burst }]) => `| \`${name}\` | ${perMinute} | ${burst} |`);

export const description = `The ${productName} manages hosted-mail accounts, with their workspaces, domains, mailboxes and everything else in them. Nearly every route is also a function of code mode, under the same name. \`x-extension\` marks a route that the specification does not have.

## Rate limits

Each caller has a limit for each class of routes. A route's description names its class. An account can have its own limits. A program counts as its complexity score says: a score of 5 counts as 5 requests. A call of a class other than \`default\` also counts for that class. Above a limit the answer is 429 \`rate_limited\` with \`Retry-After\`.

| Class | Requests per minute | Requests at once after a pause |
|---|---|---|
${limitRows.join("\n")}`;

/** The public OpenAPI 3.1.0 document, made from the routes. */
export function openApiDocument(): object {
  const operations = paths();
  const document = createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Code API (Public)",
        version: "1.0.0",
        description,
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/", description: "The address that serves this document." }],
      security: [{ bearer: [] }],
      tags: families
        .filter(({ name }) => name === "code" || functions.some((route) => route.name.startsWith(`${name}.`)))
        .map(({ name, description }) => ({ name, description })),
      paths: operations,
      components: {
        headers: headerComponents(operations),
        examples: exampleComponents,
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "A JWT access token of a configured issuer, or a service account token (`sat_…`).",
          },
        },
      },
    },
    { override },
  );
  openReferences(document.components);
  addExamples(document);
  return document;
}

if (import.meta.main) {
  readWords("Usage: npm run openapi\n\nWrites the OpenAPI document to dist/openapi.json.");
  const file = resolve(import.meta.dirname, "../../dist/openapi.json");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
  process.stdout.write(`${file}\n`);
}
