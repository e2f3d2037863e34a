import { readFileSync } from "node:fs";
import { join } from "node:path";

import { functionsRoute } from "../../functions/code/handler.ts";
import { routes } from "../../functions/routes.ts";
import type { Route } from "../../shared/http/route.ts";
import { a2aRoute, mcpRoute } from "./code-mode.ts";

type Members = Record<string, unknown>;

/**
 * A recorded call of an operation in a test account, with its answers. `npm run examples` records the call, and puts
 * fixed values in the place of ids and other values that differ from run to run.
 */
type RecordedExample = {
  /** All members of the path, the query and the body, by name. */
  arguments: Members;
  /** The status of the answer. */
  status: number;
  answer: unknown;
  /** The answer in another media type, if the operation can answer with a file. */
  file?: string;
  /** The body of a 404, for a call that names a missing resource, or for MCP an unknown method. */
  not_found?: unknown;
  /** The body of a 422, for a call with a wrong value. */
  invalid?: unknown;
};

/** The example of an operation, with the arguments sorted into the parts of the request. */
export type OperationExample = RecordedExample & {
  route: Route;
  path: Members;
  query: Members;
  /** Undefined if the operation takes no body. */
  body: Members | undefined;
};

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, "examples.json"), "utf8")) as Record<
  string,
  RecordedExample
>;

/** All operations of the document. */
const operationRoutes: readonly Route[] = [...routes, functionsRoute, a2aRoute, mcpRoute];

/** The ids of all operations of the document. */
export const operationIds: readonly string[] = operationRoutes.map(({ name }) => name);

/** The example of an operation. Throws if the operation has no example. */
export function exampleOf(operationId: string): OperationExample {
  const route = operationRoutes.find(({ name }) => name === operationId);
  const example = recorded[operationId];
  if (!route || !example) throw new Error(`${operationId} has no example. \`npm run examples\` records one.`);
  const part = ({ shape }: { shape: object }): Members =>
    Object.fromEntries(Object.entries(example.arguments).filter(([name]) => Object.hasOwn(shape, name)));
  const hasBody = Object.keys(route.body.shape).length > 0;
  const parts = { path: part(route.params), query: part(route.query), body: hasBody ? part(route.body) : undefined };
  return { ...example, route, ...parts };
}

/** The components for examples. Most operations have the same example of a 404, so this example is a component. */
export const exampleComponents = {
  NotFound: {
    summary: "The call names a resource that does not exist, or that the caller may not see.",
    value: exampleOf("accounts.get").not_found,
  },
};

type Media = { example?: unknown; examples?: object };
type DocumentedCall = {
  operationId?: string;
  parameters?: { in?: string; name?: string; example?: unknown }[];
  requestBody?: { content?: Record<string, Media> };
  responses?: Record<string, { content?: Record<string, Media> }>;
};

/** Adds the examples to an OpenAPI document: to parameters, bodies, successful answers, 404 and 422. */
export function addExamples(document: object): void {
  const { paths = {} } = document as { paths?: Record<string, Record<string, DocumentedCall>> };
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    if (operation.operationId !== undefined) addExample(operation, exampleOf(operation.operationId));
  }
}

function addExample({ parameters = [], requestBody, responses = {} }: DocumentedCall, example: OperationExample): void {
  for (const parameter of parameters) {
    const values = { path: example.path, query: example.query }[parameter.in ?? ""] ?? {};
    const { name = "" } = parameter;
    if (Object.hasOwn(values, name)) parameter.example = values[name];
  }
  const answered = (status: number | string, type: string): Media => responses[status]?.content?.[type] ?? {};
  const json = "application/json";
  const body = requestBody?.content?.[json];
  if (body) body.example = example.body;
  answered(example.status, json).example = example.answer;
  const { file } = example.route.http;
  if (file && example.file !== undefined) answered(example.status, file.type).example = example.file;
  const isShared = JSON.stringify(example.not_found) === JSON.stringify(exampleComponents.NotFound.value);
  if (isShared)
    answered(404, "application/problem+json").examples = { missing: { $ref: "#/components/examples/NotFound" } };
  // Only MCP has another 404: an answer of JSON-RPC.
  else if (example.not_found !== undefined) answered(404, json).example = example.not_found;
  if (example.invalid !== undefined) answered(422, json).example = example.invalid;
}
