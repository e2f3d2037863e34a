import { type ApiFunction, type Document, functionsOf, type Schema, typeImport } from "../client/emit.ts";

/** One argument of a command: a positional word or an option. */
export type ArgumentSpec = {
  /** The argument's name in the API, such as `local_part`. */
  name: string;
  kind: "text" | "number" | "boolean" | "json";
  isRequired: boolean;
  /** Whether the option can be repeated. */
  isList: boolean;
  isNullable: boolean;
  choices?: string[];
  description: string;
};

/** The command of one function of the API. */
export type CommandSpec = {
  /** The dotted name, such as `mailboxes.add`. */
  name: string;
  summary: string;
  description: string;
  /** Whether the function needs the id of an account. */
  inAccount: boolean;
  words: ArgumentSpec[];
  options: ArgumentSpec[];
  /** Whether the client's method takes the request body in the argument `payload`. */
  hasPayload: boolean;
  list?: { member: string; isPaged: boolean; columns: string[] };
  example: string;
};

type Schemas = Record<string, Schema>;
type Described = Schema & { examples?: unknown[] };

/** A schema with the members of the schema to which its `$ref` points. */
const resolved = (schema: Schema, schemas: Schemas): Described =>
  schema.$ref === undefined ? schema : { ...schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)], ...schema };

/**
 * Returns a schema without the alternative null, and whether the schema had this alternative. An argument has only one
 * form:
 * - If `anyOf` or `oneOf` has several alternatives besides null, the result is the alternative that is an array.
 *   Without an array, the result is the empty schema, which accepts any JSON.
 * - If `type` has several types besides null, the result has the type `string`, or else the first of these types.
 */
function nonNull(schema: Described): { schema: Described; isNullable: boolean } {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) {
    const others = options.filter(({ type }) => type !== "null");
    const list = others.find(({ type }) => type === "array");
    const only = list ?? (others.length === 1 ? others[0] : undefined);
    return { schema: only ? { ...schema, ...only } : {}, isNullable: others.length < options.length };
  }
  if (!Array.isArray(schema.type)) return { schema, isNullable: false };
  const types = schema.type.filter((type) => type !== "null");
  const [type = "string"] = types;
  return {
    schema: { ...schema, type: types.includes("string") ? "string" : type },
    isNullable: types.length < schema.type.length,
  };
}

function kindOf({ type, enum: choices }: Schema): ArgumentSpec["kind"] {
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  return type === "string" || choices ? "text" : "json";
}

function argumentOf(name: string, given: Schema, isRequired: boolean, schemas: Schemas): ArgumentSpec {
  const { schema, isNullable } = nonNull(resolved(given, schemas));
  const isList = schema.type === "array";
  const item = isList ? nonNull(resolved(schema.items ?? {}, schemas)).schema : schema;
  const choices = item.enum?.map(String) ?? (typeof item.const === "string" ? [item.const] : undefined);
  const fallback = schema.default === undefined || isRequired ? "" : ` Default: ${JSON.stringify(schema.default)}.`;
  return {
    name,
    kind: item.const === undefined ? kindOf(item) : "text",
    isRequired,
    isList,
    isNullable,
    ...(choices ? { choices } : {}),
    description: (given.description ?? schema.description ?? "") + fallback,
  };
}

/**
 * Values for the examples in help texts. A key is the name of an argument, or the names of a function and its argument.
 */
const sampleWords: Record<string, string> = {
  domain: "example.com",
  email: "ann@example.com",
  mailbox: "ann@example.com",
  local_part: "ann",
  first_name: "Ann",
  last_name: "Lee",
  name: "Sales",
  alias: "info",
  "domains.add name": "example.com",
};

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function sampleOf({ name, choices, kind }: ArgumentSpec, schema: Described | undefined): string {
  const known = sampleWords[name];
  if (known !== undefined) return known;
  const [example] = schema?.examples ?? [];
  if (example !== undefined && schema?.type !== "array")
    return typeof example === "string" ? example : JSON.stringify(example);
  const [choice] = choices ?? [];
  if (choice !== undefined) return choice;
  if (kind === "number") return "1";
  if (kind === "json") return "@file.json";
  return name.toUpperCase();
}

export const flagOf = (name: string): string => `--${name.replaceAll(/[._]/g, "-")}`;

/** An example of the command line: the required arguments, and the members of the body's example `bodyExample`. */
function exampleOf(
  spec: Omit<CommandSpec, "example">,
  members: Record<string, Schema>,
  bodyExample: Record<string, unknown>,
): string {
  const words = spec.words.map((one) => quoted(sampleOf(one, undefined)));
  const options = spec.options
    .filter(({ name, isRequired }) => isRequired || name in bodyExample)
    .map((one) => {
      const given = bodyExample[one.name];
      if (one.kind === "boolean") return given === false ? `${flagOf(one.name)} false` : flagOf(one.name);
      const sample = given ?? sampleWords[`${spec.name} ${one.name}`] ?? sampleOf(one, members[one.name]);
      // The example of a list has only its first item.
      const value: unknown = Array.isArray(sample) ? sample[0] : sample;
      return `${flagOf(one.name)} ${quoted(typeof value === "string" ? value : JSON.stringify(value))}`;
    });
  return [`hosted-mail ${spec.name.replaceAll(".", " ").replaceAll("_", "-")}`, ...words, ...options].join(" ");
}

/**
 * Chooses the members of a list's items that become the columns of a table. These are the first five members with a
 * text, a number or a boolean, except ids. The last column is the member `id`, if the items have one.
 */
function columnsOf(item: Schema, schemas: Schemas): string[] {
  const { properties = {} } = resolved(item, schemas);
  const isPlain = (schema: Schema): boolean =>
    ["text", "number", "boolean"].includes(kindOf(nonNull(resolved(schema, schemas)).schema));
  const names = Object.keys(properties).filter((name) => isPlain(properties[name] ?? {}));
  return [...names.filter((name) => !/(?:^|_)id$/.test(name)).slice(0, 5), ...(names.includes("id") ? ["id"] : [])];
}

/**
 * The list of an answer, if the command prints only its items. Undefined if the answer is no list. Also undefined if a
 * list without pages has further members, such as the currency, because the command must print these too.
 */
function printedListOf({ answer, items }: ApiFunction, schemas: Schemas): ApiFunction["items"] {
  const { properties = {} } = resolved(answer, schemas);
  return items?.isPaged || Object.keys(properties).length < 2 ? items : undefined;
}

function commandOf(fn: ApiFunction, schemas: Schemas): CommandSpec {
  const body: Described = fn.body ? resolved({ $ref: fn.body.schema }, schemas) : {};
  const members = body.properties ?? {};
  const list = printedListOf(fn, schemas);
  const isPageParameter = (name: string): boolean => list !== undefined && (name === "page" || name === "page_size");
  const query = fn.parameters.filter((one) => one.in === "query" && !isPageParameter(one.name));
  const path = fn.parameters.filter((one) => one.in === "path" && one.name !== "account_id");
  // The help leaves out the paragraphs that are about the API and not about the command.
  const notes = fn.description.split("\n\n").filter((text) => !/^(?:Rate limit|Code mode|An extension)/.test(text));
  const spec = {
    name: fn.name,
    summary: fn.summary,
    description: notes.join("\n\n"),
    inAccount: fn.parameters.some((one) => one.in === "path" && one.name === "account_id"),
    words: path.map(({ name, schema }) => argumentOf(name, schema, true, schemas)),
    options: [
      ...query.map(({ name, schema, required = false }) => argumentOf(name, schema, required, schemas)),
      ...Object.entries(members).map(([name, schema]) =>
        argumentOf(name, schema, body.required?.includes(name) ?? false, schemas),
      ),
    ],
    hasPayload: fn.body?.as === "payload",
    ...(list ? { list: { member: list.member, isPaged: list.isPaged, columns: columnsOf(list.schema, schemas) } } : {}),
  };
  const [bodyExample = {}] = (body.examples ?? []) as Record<string, unknown>[];
  return { ...spec, example: exampleOf(spec, members, bodyExample) };
}

/** The TypeScript source of `commands.ts`: the specs from which the program makes its commands. */
export function commandsSource(document: Document, isPayload: (name: string) => boolean): string {
  const { schemas } = document.components;
  const commands = functionsOf(document, isPayload).map((fn) => commandOf(fn, schemas));
  const groups = document.tags.map(({ name, description }) => ({ name, description }));
  return [
    "// Generated from the OpenAPI document by `npm run client`.",
    `${typeImport(["CommandSpec"], "../../emit.ts")}\n`,
    `export const commandSpecs: CommandSpec[] = [\n${commands.map((one) => `  ${JSON.stringify(one)},`).join("\n")}\n];\n`,
    `export const groupSpecs = ${JSON.stringify(groups)};\n`,
  ].join("\n");
}
