import { programErrorCodes } from "../../functions/code/language/errors.ts";

export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
};
type Media = Record<string, { schema?: Schema }>;
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type DocumentOperation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: { content: Media };
  responses: Record<string, { content?: Media }>;
};
export type Document = {
  paths: Record<string, Record<string, DocumentOperation>>;
  tags: { name: string; description: string }[];
  components: { schemas: Record<string, Schema> };
};

/** One function of the API, read from the document. */
export type ApiFunction = {
  /** The dotted name: `mailboxes.add`. */
  name: string;
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  /**
   * The name of the body's schema, and the place of the body in the arguments. `flat`: the body's members are
   * arguments. `payload`: the argument `payload` is the body.
   */
  body?: { schema: string; as: "flat" | "payload" };
  answer: Schema;
  /**
   * The items of a list. `member` is the answer's member that contains the items, or "" if the answer itself is the
   * list.
   */
  items?: { member: string; schema: Schema; isPaged: boolean };
};

const json = "application/json";
/** The name of the schema to which a schema's `$ref` points; empty without a `$ref`. */
const nameIn = ({ $ref = "" }: Schema): string => $ref.slice($ref.lastIndexOf("/") + 1);

/** Whether the function `name` takes its body in the argument `payload`, as in code mode. */
type IsPayload = (name: string) => boolean;

/**
 * The list in an answer: the answer itself, or its only member that is an array. Undefined if there is no such member.
 */
function itemsOf(answer: Schema, schemas: Record<string, Schema>): ApiFunction["items"] {
  if (answer.type === "array") return { member: "", schema: answer.items ?? {}, isPaged: false };
  const { properties = {} } = schemas[nameIn(answer)] ?? answer;
  const lists = Object.entries(properties).filter(([, { type }]) => type === "array");
  const [only, ...others] = lists;
  if (!only || others.length > 0) return undefined;
  const [member, list] = only;
  return { member, schema: list.items ?? {}, isPaged: "total" in properties };
}

/** Every function of the document, in the document's order. The endpoints of code mode are not functions. */
export function functionsOf({ paths, components: { schemas } }: Document, isPayload: IsPayload): ApiFunction[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  return operations
    .filter(({ operationId }) => !operationId.startsWith("code."))
    .map(({ operationId: name, method, path, summary, description, parameters = [], requestBody, responses }) => {
      const success = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1];
      const answer = success?.content?.[json]?.schema ?? {};
      const body = requestBody?.content[json]?.schema;
      const items = name.endsWith("list") || answer.type === "array" ? itemsOf(answer, schemas) : undefined;
      return {
        name,
        method,
        path,
        summary,
        description,
        parameters: parameters.filter((one) => one.in === "path" || one.in === "query"),
        ...(body ? { body: { schema: nameIn(body), as: isPayload(name) ? "payload" : "flat" } as const } : {}),
        answer,
        ...(items ? { items } : {}),
      };
    });
}

const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");

/** Writes a doc comment with these paragraphs. */
function comment(...paragraphs: readonly (string | undefined)[]): string {
  const lines = paragraphs
    .filter((text) => text !== undefined && text !== "")
    .join("\n\n")
    .replaceAll("*/", "*\\/")
    .split("\n");
  if (lines.length === 1) return lines[0] === "" ? "" : `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

const key = (name: string): string => (/^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name));

/** A schema as a TypeScript type. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameIn(schema);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(typeOf))].join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  switch (schema.type) {
    case "array": {
      const item = typeOf(schema.items ?? {});
      return /[ |]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return objectOf(schema);
    case "integer":
      return "number";
    default:
      return schema.type ?? "unknown";
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, member]) => memberOf(name, member, required.includes(name)));
  const isOpen = typeof additionalProperties === "object";
  const values = isOpen ? typeOf(additionalProperties) : "unknown";
  if (members.length === 0) return isOpen ? `Record<string, ${values}>` : "Record<string, never>";
  return `{\n${indent([...members, ...(isOpen ? ["[further: string]: unknown;"] : [])].join("\n"))}\n}`;
}

function memberOf(name: string, schema: Schema, isRequired: boolean): string {
  const note = schema.default === undefined ? undefined : `@default ${JSON.stringify(schema.default)}`;
  return `${comment(schema.description, note)}${key(name)}${isRequired ? "" : "?"}: ${typeOf(schema)};`;
}

const isInterface = (schema: Schema): boolean => schema.type === "object" && objectOf(schema).startsWith("{");

function declarationOf(name: string, schema: Schema): string {
  const { description } = schema;
  return isInterface(schema) && !schema.oneOf
    ? `${comment(description)}export interface ${name} ${objectOf(schema)}\n`
    : `${comment(description)}export type ${name} = ${typeOf(schema)};\n`;
}

const pascal = (name: string): string =>
  name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

const argumentsName = ({ name }: ApiFunction): string => `${pascal(name)}Arguments`;

/** Whether a function has at least one required argument. */
function needsArguments({ parameters, body }: ApiFunction, schemas: Record<string, Schema>): boolean {
  return (
    parameters.some(({ required }) => required) || (body ? (schemas[body.schema]?.required ?? []).length > 0 : false)
  );
}

const hasArguments = ({ parameters, body }: ApiFunction): boolean => parameters.length > 0 || body !== undefined;

/** The TypeScript type of a function's arguments. The type combines the parameters of path and query with the body. */
function argumentsOf(fn: ApiFunction): string {
  const { body } = fn;
  const own = fn.parameters.map(({ name, schema, required = false }) => memberOf(name, schema, required));
  if (body?.as === "payload") {
    own.push(
      `/** The body. It may repeat the account's id, as in code mode. */\npayload: ${body.schema} & { account_id?: string };`,
    );
  }
  const base = body?.as === "flat" ? ` extends ${body.schema}` : "";
  const members = own.length === 0 ? "{}" : `{\n${indent(own.join("\n"))}\n}`;
  return `/** The arguments of \`${fn.name}\`. */\nexport interface ${argumentsName(fn)}${base} ${members}\n`;
}

function methodOf(fn: ApiFunction, schemas: Record<string, Schema>): string {
  const list = fn.items;
  const answer = typeOf(fn.answer);
  const promise = list
    ? `${list.isPaged ? "PagedList" : "List"}<${typeOf(list.schema)}, ${answer}>`
    : `ApiPromise<${answer}>`;
  const args = `args${needsArguments(fn, schemas) ? "" : "?"}: ${hasArguments(fn) ? argumentsName(fn) : "NoArguments"}`;
  const notes = fn.description.replace(/\n\nCode mode: `[^`]+`\.$/, "");
  const method = fn.name.slice(fn.name.lastIndexOf(".") + 1);
  return `${comment(fn.summary, notes)}${key(method)}(${args}, options?: RequestOptions): ${promise};`;
}

type Namespace = { name: string; functions: ApiFunction[]; children: Map<string, Namespace> };

/** The functions as a tree of namespaces. */
function treeOf(functions: readonly ApiFunction[]): Namespace {
  const root: Namespace = { name: "", functions: [], children: new Map() };
  for (const fn of functions) {
    let at = root;
    for (const word of fn.name.split(".").slice(0, -1)) {
      const name = at.name === "" ? word : `${at.name}.${word}`;
      const next = at.children.get(word) ?? { name, functions: [], children: new Map() };
      at.children.set(word, next);
      at = next;
    }
    at.functions.push(fn);
  }
  return root;
}

function namespacesOf(space: Namespace, schemas: Record<string, Schema>): string[] {
  const children = [...space.children];
  const members = [
    ...space.functions.map((fn) => methodOf(fn, schemas)),
    ...children.map(
      ([word, { name }]) => `/** The functions \`${name}.…\`. */\nreadonly ${word}: ${pascal(name)}Functions;`,
    ),
  ];
  const body = `{\n${indent(members.join("\n"))}\n}\n`;
  // The client adds the namespaces when it runs, so the class only declares them.
  const own =
    space.name === ""
      ? `/** Every function of the API. */\nexport class AllFunctions ${body.replaceAll("  readonly", "  declare readonly")}`
      : `/** The functions \`${space.name}.…\`. */\nexport interface ${pascal(space.name)}Functions ${body}`;
  return [own, ...children.flatMap(([, child]) => namespacesOf(child, schemas))];
}

/**
 * An event type. `data` is the type of the event's data: the name of a schema in the document, another type in
 * TypeScript, or a schema without a name.
 */
export type EventType = { type: string; resource: string; data: string | Schema };

/** The types of event data whose schemas have no name in the document. */
function eventDataOf(types: readonly EventType[]): string[] {
  const unnamed = new Map(types.flatMap(({ resource, data }) => (typeof data === "string" ? [] : [[resource, data]])));
  return [...unnamed].map(([resource, schema]) =>
    declarationOf(`${pascal(resource)}Data`, { ...schema, description: `The data of the events \`${resource}.…\`.` }),
  );
}

function eventsOf(types: readonly EventType[]): string {
  const byResource = [...Map.groupBy(types, ({ resource }) => resource)];
  const union = byResource.map(([resource, [first, ...others]]) => {
    const names = [first, ...others].map((one) => JSON.stringify(one?.type)).join(" | ");
    return `  | EventOf<${names}, ${JSON.stringify(resource)}, ${typeof first?.data === "string" ? first.data : `${pascal(resource)}Data`}>`;
  });
  return `/** An event, as a webhook sends it. The \`type\` of the event decides the type of \`data\`. */\nexport type WebhookEvent =\n${union.join("\n")};\n\n/** Every event type. */\nexport type EventType = WebhookEvent["type"];\n`;
}

/** An import in a generated file. */
export const typeImport = (names: readonly string[], file: string): string =>
  `import type { ${names.join(", ")} } from "${file}";`;

const banner = "// Generated from the OpenAPI document by `npm run client`.\n";

/**
 * The TypeScript source of the types: every schema, the arguments of every function, the error codes and the events.
 */
export function typesSource(
  document: Document,
  functions: readonly ApiFunction[],
  events: readonly EventType[],
): string {
  const { schemas } = document.components;
  const codes = typeOf(schemas["Problem"]?.properties?.["code"] ?? {});
  const programCodes = programErrorCodes
    .map((code) => JSON.stringify(code))
    .filter((code) => !codes.includes(code))
    .join(" | ");
  return [
    `${banner}${typeImport(["EventOf"], "../events.ts")}\n`,
    ...Object.entries(schemas).map(([name, schema]) => declarationOf(name, schema)),
    ...functions.filter(hasArguments).map(argumentsOf),
    `/** Every stable code of an error. \`validation_failed\` is the code of a 422 that lists invalid places. */\nexport type ErrorCode =\n  | "validation_failed"\n  | ${codes}\n  | ${programCodes};\n`,
    ...eventDataOf(events),
    eventsOf(events),
  ].join("\n");
}

/** The TypeScript source of the functions: the types of their methods, and the table of their routes. */
export function functionsSource(document: Document, functions: readonly ApiFunction[]): string {
  const rows = functions.map(({ name, method, path, parameters, body, items }) => {
    const query = parameters.filter((one) => one.in === "query").map((one) => one.name);
    const row = { method, path, query, ...(body ? { body: body.as } : {}), ...(items ? { items: items.member } : {}) };
    return `  ${JSON.stringify(name)}: ${JSON.stringify(row)},`;
  });
  const spaces = namespacesOf(treeOf(functions), document.components.schemas);
  const names = new Set(
    [...spaces, ...functions.map((fn) => `${fn.name} ${typeOf(fn.answer)} ${fn.items ? typeOf(fn.items.schema) : ""}`)]
      .join(" ")
      .match(/\b[A-Z]\w+/g),
  );
  // The import contains only names that the source uses.
  const used = [
    ...Object.keys(document.components.schemas),
    ...functions.filter(hasArguments).map(argumentsName),
  ].filter((name) => names.has(name));
  return [
    `${banner}${typeImport(["ApiPromise", "List", "PagedList"], "../promises.ts")}`,
    typeImport(["FunctionRoute", "NoArguments", "RequestOptions"], "../transport.ts"),
    `${typeImport(used, "./types.ts")}\n`,
    ...spaces,
    `/** The route of each function. */\nexport const routes: Record<string, FunctionRoute> = {\n${rows.join("\n")}\n};\n`,
  ].join("\n");
}
