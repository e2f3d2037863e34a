import { writeFile, mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import * as z from "zod";
import { createDocument, type CreateDocumentOptions, type ZodOpenApiOperationObject } from "zod-openapi";

import { route as a2a } from "../functions/code/a2a.ts";
import { routes } from "../functions/routes.ts";
import { type ProblemCode, problemCodes, problemOf } from "../shared/errors.ts";
import type { Route } from "../shared/route.ts";
import { families } from "./openapi-families.ts";
import { mcpRoute } from "./openapi-mcp.ts";

const Problem = z
  .object({
    type: z.string().meta({ description: "Where the problem is explained, relative to the API's address." }),
    title: z.string().meta({ description: "What kind of problem it is; the same for every occurrence." }),
    status: z.int().meta({ description: "The HTTP status again." }),
    detail: z.string().meta({ description: "One plain sentence about this occurrence." }),
    code: z.enum(problemCodes).meta({ description: "The stable code to decide on." }),
    request_id: z.string().meta({ description: "Quote it when you ask us about the request." }),
  })
  .catchall(z.unknown())
  .meta({ id: "Problem", description: "RFC 9457 problem details, with members that help to mend the request." });

const HTTPValidationError = z
  .object({
    detail: z
      .array(
        z
          .object({
            loc: z
              .array(z.union([z.string(), z.int()]))
              .meta({ description: "The place: path, query, header or body first, then the way in." }),
            msg: z.string().meta({ description: "What is wrong there." }),
            type: z.string().meta({ description: "A stable name of the kind of error." }),
          })
          .meta({ id: "ValidationError", description: "One thing that is wrong with the request." }),
      )
      .optional()
      .meta({ description: "Everything that is wrong with the request." }),
  })
  .meta({ id: "HTTPValidationError", description: "The request does not fit the schema." });

/** The codes a route may answer beside success and 422, from what it declares. */
export function problemsOf(route: Route): ProblemCode[] {
  const hasBody = Object.keys(route.body.shape).length > 0;
  const inAccount = "account_id" in route.params.shape;
  const codes: ProblemCode[] = ["unauthenticated", "token_expired", "token_revoked", "malformed_json"];
  if (route.capability !== null && route.capability !== "account.view") codes.push("forbidden");
  if (inAccount && route.access === "write") codes.push("account_suspended");
  if (route === mcpRoute) codes.push("origin_not_allowed");
  if (inAccount) codes.push("not_found");
  if (hasBody || route.method !== "GET") codes.push("body_too_large", "unsupported_media_type");
  codes.push(...route.problems, "internal", "busy", "upstream_unavailable");
  return problemCodes.filter((code) => codes.includes(code));
}

const headers = {
  "X-Request-Id": { schema: { type: "string" }, description: "The id of the request: yours, or one of ours." },
} as const;

function failures(route: Route): ZodOpenApiOperationObject["responses"] {
  const byStatus = Map.groupBy(problemsOf(route), (code) => String(problemOf(code).status));
  const responses = [...byStatus].map(([status, codes]) => [
    status,
    {
      description: codes.map((code) => `\`${code}\`: ${problemOf(code).title}.`).join(" "),
      headers,
      content: { "application/problem+json": { schema: Problem } },
    },
  ]);
  const invalid = {
    description: "Something in the request does not fit; `detail` names each place.",
    headers,
    content: { "application/json": { schema: HTTPValidationError } },
  };
  return Object.fromEntries([...responses, ["422", invalid]]);
}

const needs = ({ capability, open }: Route): string =>
  capability === null ? `Needs no capability. ${open ?? ""}`.trim() : `Needs the capability \`${capability}\`.`;

function operation(route: Route): ZodOpenApiOperationObject {
  const hasBody = Object.keys(route.body.shape).length > 0;
  const location = {
    Location: { schema: { type: "string" }, description: "Where the created resource is read." },
  } as const;
  const isFunction = routes.includes(route);
  return {
    operationId: route.name,
    summary: route.summary,
    description: [route.description, needs(route), isFunction ? `Code mode: \`${route.name}\`.` : ""]
      .filter(Boolean)
      .join("\n\n"),
    tags: [route.name.split(".")[0] ?? route.name],
    requestParams: {
      path: route.params,
      query: route.query,
      header: z.object({
        "X-Request-Id": z
          .string()
          .regex(/^[\x21-\x7e]{1,128}$/)
          .optional()
          .meta({ description: "Your id for this request: echoed, logged, and part of every error body." }),
      }),
    },
    ...(hasBody ? { requestBody: { required: true, content: { "application/json": { schema: route.body } } } } : {}),
    responses: {
      [String(route.status)]: {
        description: "Done.",
        headers: { ...headers, ...(route.location === undefined ? {} : location) },
        content: { "application/json": { schema: route.output } },
      },
      ...failures(route),
    },
  };
}

function paths(): Record<string, Record<string, ZodOpenApiOperationObject>> {
  const grouped: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of [...routes, a2a, mcpRoute]) {
    (grouped[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return grouped;
}

/** zod states a UUID's pattern beside its format, and the safe-integer bounds of every integer: noise to a reader. */
const override: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
};

/** The public OpenAPI 3.1.0 document, made from the routes. */
export function openApiDocument(): object {
  const document = createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Code API (Public)",
        version: "1.0.0",
        description:
          "Manage hosted-mail accounts: workspaces, domains, mailboxes and all that belongs to them. Every function is a REST route and, under the same name, a function of code mode.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/", description: "The address this document came from." }],
      security: [{ bearer: [] }],
      tags: families.filter(({ name }) => name === "code" || routes.some((route) => route.name.startsWith(`${name}.`))),
      paths: paths(),
      components: {
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
  return document;
}

if (import.meta.main) {
  const file = resolve(import.meta.dirname, "../dist/openapi.json");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
  process.stdout.write(`${file}\n`);
}
