import { readFileSync } from "node:fs";
import { join } from "node:path";

import formats from "ajv-formats";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

import type { Answer } from "./request.ts";

export type JsonSchema = Record<string, unknown>;
type Header = { required?: boolean };
type Response = {
  description: string;
  headers?: Record<string, { $ref?: string }>;
  content?: Record<string, { schema: JsonSchema }>;
};
export type Operation = { operationId: string; responses: Record<string, Response> };
export type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, Header>; schemas: Record<string, JsonSchema> };
};

let served: Document | undefined;

/** The OpenAPI document, as the docs Lambda serves it. Read once per process. */
export const publishedDocument = (): Document =>
  (served ??= JSON.parse(readFileSync(join(process.env["DOCS_DIR"] ?? "", "openapi.json"), "utf8")) as Document);

/**
 * A copy of a schema or a document whose objects have no unknown members. The document allows unknown members in
 * answers, because later versions add members. But this version must send only the members of the document.
 */
function closed<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(closed) as Node;
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]));
  const isOpen = copy["type"] === "object" && copy["properties"] && copy["additionalProperties"] === undefined;
  return (isOpen ? { ...copy, additionalProperties: false } : copy) as Node;
}

let ajv: Ajv2020 | undefined;
const byPlace = new WeakMap<JsonSchema, ValidateFunction>();
const byText = new Map<string, ValidateFunction>();

function validator(): Ajv2020 {
  if (ajv) return ajv;
  ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(closed(publishedDocument()), "openapi");
  return ajv;
}

/** Compiles a schema that may refer to the document's components. Equal schemas share one check. */
function compile(schema: JsonSchema): ValidateFunction {
  const known = byPlace.get(schema);
  if (known) return known;
  const absolute = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
  const validate = byText.get(absolute) ?? validator().compile(closed(JSON.parse(absolute) as JsonSchema));
  byText.set(absolute, validate);
  byPlace.set(schema, validate);
  return validate;
}

/** Checks values against a schema of the document. The schema is compiled at the first check. */
export const schemaCheck =
  (schema: JsonSchema) =>
  (value: unknown): boolean =>
    compile(schema)(value);

/** The errors of a value that a schema of the document does not allow. Empty if the schema allows the value. */
function complaintsOf(schema: JsonSchema, value: unknown): string[] {
  const validate = compile(schema);
  return validate(value) ? [] : [validator().errorsText(validate.errors, { dataVar: "body" })];
}

/**
 * Throws unless the document promises an answer: its status, content type, body, problem code and header fields.
 * `routeKey` is the key that the gateway matched, such as `GET /v1/public/me`. A request without a route (`$default`)
 * must get a problem, or 204 for a preflight.
 */
export function checkContract(routeKey: string, answer: Answer): void {
  const wrong = routeKey === "$default" ? fallbackViolations(answer) : violations(routeKey, answer);
  if (wrong.length === 0) return;
  throw new Error(`${routeKey} answered ${answer.status}, but ${wrong.join("; ")}\n${answer.text.slice(0, 2_000)}`);
}

const mediaTypeOf = ({ headers }: Answer): string => (headers["content-type"] ?? "").split(";")[0] ?? "";

function fallbackViolations(answer: Answer): string[] {
  if (answer.status === 204) return [];
  return [
    ...(answer.status === 404 || answer.status === 405 ? [] : ["a request without a route must get a 404 or 405"]),
    ...(mediaTypeOf(answer) === "application/problem+json" ? [] : ["the content type is not application/problem+json"]),
    ...complaintsOf({ $ref: "#/components/schemas/Problem" }, answer.body),
  ];
}

function violations(routeKey: string, answer: Answer): string[] {
  const response = documented(routeKey, answer);
  if (typeof response === "string") return [response];
  const type = mediaTypeOf(answer);
  const headers = [...headerViolations(response, answer), ...requestIdViolations(type, answer)];
  if (!response.content) return answer.text === "" ? headers : [...headers, "the document has no body"];
  return [...headers, ...bodyViolations(response, type, answer.body)];
}

/** The complaint that a problem has no X-Request-Id. Only the gateway may leave this field out. */
const requestIdViolations = (type: string, { headers }: Answer): string[] =>
  type === "application/problem+json" && headers["x-request-id"] === undefined
    ? ["the problem has no X-Request-Id"]
    : [];

type Outcome = { status: number; body: unknown };

/** Throws unless the document promises the outcome of a call in a program, as it would for the same call over REST. */
export function checkOutcome(routeKey: string, { status, body }: Outcome): void {
  const response = documented(routeKey, { status });
  const type = status < 300 || status === 422 ? "application/json" : "application/problem+json";
  const wrong = typeof response === "string" ? [response] : bodyViolations(response, type, body);
  if (wrong.length === 0) return;
  throw new Error(`${routeKey} came to ${status}, but ${wrong.join("; ")}\n${JSON.stringify(body)}`);
}

/** The document's entry for the status of an answer, or a complaint that it has none. */
function documented(routeKey: string, { status }: Pick<Answer, "status">): Response | string {
  const [method = "", path = ""] = routeKey.split(" ");
  const operation = publishedDocument().paths[path]?.[method.toLowerCase()];
  if (!operation) return "the document has no such operation";
  return operation.responses[String(status)] ?? `the document has only ${Object.keys(operation.responses).join(", ")}`;
}

function bodyViolations({ description, content = {} }: Response, type: string, body: unknown): string[] {
  const { schema } = content[type] ?? {};
  if (!schema) return [`its type is ${type || "missing"}, not ${Object.keys(content).join(" or ")}`];
  const complaints = complaintsOf(schema, body);
  if (complaints.length > 0 || type !== "application/problem+json") return complaints;
  const { code } = body as { code: string };
  return description.includes(`\`${code}\``) ? [] : [`${code} is not documented`];
}

let documentedHeaders: string[] | undefined;

/** The names of all header fields in the document. */
const headerNames = (): string[] =>
  (documentedHeaders ??= [
    ...new Set(Object.keys(publishedDocument().components.headers).map((name) => name.split(".")[0] ?? "")),
  ]);

function headerViolations({ headers: documented = {} }: Response, { headers }: Answer): string[] {
  const { headers: components } = publishedDocument().components;
  const isRequired = (name: string) => components[documented[name]?.$ref?.split("/").at(-1) ?? ""]?.required ?? false;
  return headerNames().flatMap((name) => {
    const isThere = headers[name.toLowerCase()] !== undefined;
    if (isThere && !Object.hasOwn(documented, name)) return [`the document has no header ${name}`];
    return !isThere && isRequired(name) ? [`the header ${name} is missing`] : [];
  });
}
