import { functionsRoute } from "../../../functions/code/handler.ts";
import { routes } from "../../../functions/routes.ts";
import { type ProblemCode, problemCodes } from "../../../shared/core/errors.ts";
import type { Route } from "../../../shared/http/route.ts";
import { a2aRoute, mcpRoute } from "../../openapi/code-mode.ts";
import { openApiDocument } from "../../openapi/document.ts";
import { families } from "../../openapi/routes.ts";

/** The parts of a JSON schema in the document that the reference shows. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  pattern?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  example?: unknown;
  examples?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
};

type Content = Record<string, { schema?: Schema }>;
type Header = { $ref?: string; description?: string; schema?: Schema };
type DocumentAnswer = { description: string; headers?: Record<string, Header>; content?: Content };
type DocumentParameter = { in: string; name: string; required?: boolean; description?: string; schema: Schema };
type DocumentOperation = {
  operationId: string;
  summary: string;
  tags: string[];
  security?: unknown[];
  parameters?: DocumentParameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, DocumentAnswer>;
};
type Document = {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, Schema>; headers: Record<string, Header> };
};

/** The OpenAPI document, which the reference shows. */
export const document = openApiDocument() as Document;

/** One operation, as its page shows it. `route` has facts that the document contains only in descriptions. */
export type ReferenceOperation = {
  id: string;
  family: string;
  method: string;
  path: string;
  summary: string;
  /** Markdown. */
  description: string;
  route: Route;
  isFunction: boolean;
  isPublic: boolean;
  parameters: readonly DocumentParameter[];
  body?: { required: boolean; schema: Schema };
  answers: readonly { status: string; description: string; headers: Record<string, Header>; content: Content }[];
  problems: readonly { status: string; code: ProblemCode }[];
};

const functions: readonly Route[] = [...routes, functionsRoute];
const routeOf = new Map([...functions, a2aRoute, mcpRoute].map((route) => [route.name, route]));

const isFailure = (status: string): boolean => Number(status) >= 400;

/** The problem codes in the description of a failure. Each code is in backticks, with a colon after it. */
const codesIn = (description: string): ProblemCode[] =>
  problemCodes.filter((code) => description.includes(`\`${code}\`:`));

function operationOf(path: string, method: string, found: DocumentOperation): ReferenceOperation {
  const route = routeOf.get(found.operationId);
  if (!route) throw new Error(`The operation ${found.operationId} has no route.`);
  const content = found.requestBody?.content;
  const schema = Object.values(content ?? {})[0]?.schema;
  return {
    id: found.operationId,
    family: found.tags[0] ?? "",
    method: method.toUpperCase(),
    path,
    summary: found.summary,
    description: route.description ?? "",
    route,
    isFunction: functions.includes(route),
    isPublic: found.security?.length === 0,
    parameters: found.parameters ?? [],
    ...(schema && { body: { required: found.requestBody?.required ?? false, schema } }),
    answers: Object.entries(found.responses)
      .filter(([status]) => !isFailure(status))
      .map(([status, { description, headers = {}, content: answered = {} }]) => ({
        status,
        description,
        headers,
        content: answered,
      })),
    problems: Object.entries(found.responses)
      .filter(([status]) => isFailure(status))
      .flatMap(([status, { description }]) => codesIn(description).map((code) => ({ status, code }))),
  };
}

const unsorted = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, found]) => operationOf(path, method, found)),
);

/** The families with at least one operation, in the order of the reference. Each family has its operations. */
export const familiesWithOperations = families
  .map((family) => ({ ...family, operations: unsorted.filter((operation) => operation.family === family.name) }))
  .filter((family) => family.operations.length > 0);

export type Family = (typeof familiesWithOperations)[number];

/** All operations by their ids, in the order of the reference. */
export const operations: ReadonlyMap<string, ReferenceOperation> = new Map(
  familiesWithOperations.flatMap((family) => family.operations.map((operation) => [operation.id, operation])),
);

/**
 * Returns the schema to which a reference points, with its name. Returns a schema without a reference unchanged,
 * without a name.
 */
export function resolve(schema: Schema): { schema: Schema; name?: string } {
  if (schema.$ref === undefined) return { schema };
  const name = schema.$ref.replace("#/components/schemas/", "");
  const found = document.components.schemas[name];
  if (!found) throw new Error(`The document has no schema ${name}.`);
  return { schema: { ...found, ...(schema.description && { description: schema.description }) }, name };
}

/** Returns the header to which a reference points. Returns any other header unchanged. */
export const headerOf = (header: Header): Header =>
  header.$ref === undefined
    ? header
    : (document.components.headers[header.$ref.replace("#/components/headers/", "")] ?? header);
