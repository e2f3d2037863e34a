import * as z from "zod";

import { StoredAccount, accountKey } from "../../../shared/accounts/account.ts";
import { invalidAt, problemOf } from "../../../shared/core/errors.ts";
import { Id } from "../../../shared/core/ids.ts";
import { mayCall } from "../../../shared/http/may-call.ts";
import { type Route, defineRoute } from "../../../shared/http/route.ts";
import type { Schema } from "../interpreter/types.ts";
import { closestName } from "../language/spelling.ts";
import { exampleOf } from "./example.ts";
import { type Catalogue, type CodeFunction, inputSchemaOf, outputSchemaOf, scoreUnit, unitsOf } from "./function.ts";
import { searchFunctions } from "./search.ts";
import { Parameter, parametersOf, signatureOf, describeType } from "./signature.ts";

const FunctionSummary = z
  .object({
    name: z.string().meta({ description: "The dotted name." }),
    signature: z.string().meta({ description: "The name with its parameters. `?` marks the optional ones." }),
    summary: z.string().meta({ description: "A short description." }),
    access: z.enum(["read", "write"]).meta({ description: "`read` if the function changes nothing." }),
    capability: z
      .string()
      .nullable()
      .meta({ description: "The capability that the caller needs. Null if a token is enough." }),
  })
  .meta({ id: "FunctionSummary", description: "A function of code mode." });

const functionList = (description: string) =>
  z
    .object({ functions: z.array(FunctionSummary).meta({ description }) })
    .meta({ description: "Functions of code mode." });

const Score = z
  .number()
  .meta({ description: "The complexity score of one call. A list counts with its default page size." });

const FunctionExplanation = FunctionSummary.extend({
  description: z.string().meta({ description: "The full description." }),
  score: Score,
  parameters: z.array(Parameter).meta({ description: "The parameters of the function." }),
  output: z.string().meta({ description: "The answer in words: the members of a dict with their types." }),
  problems: z
    .array(
      z.object({
        code: z.string().meta({ description: "The error's stable code." }),
        status: z.int().meta({ description: "The HTTP status over REST." }),
        title: z.string().meta({ description: "The meaning of the error." }),
      }),
    )
    .meta({ description: "The function's own errors. Errors that every function can have are not listed." }),
  example: z.string().meta({ description: "An example call with the required arguments." }),
}).meta({ id: "FunctionExplanation", description: "A function of code mode in full." });

const FunctionDigest = z.object({
  signature: z.string().meta({ description: "The name with its parameters and their types." }),
  output: z.string().meta({ description: "The type of the answer." }),
  access: FunctionSummary.shape.access,
  capability: FunctionSummary.shape.capability,
  score: Score,
});

const FunctionDigests = z
  .object({
    functions: z.array(FunctionDigest).meta({ description: "The functions, in the order of the requested names." }),
    types: z
      .record(z.string(), z.string())
      .meta({ description: "The types that the answers of several functions share, by name." }),
    notation: z.string().meta({ description: "How types are written." }),
  })
  .meta({ id: "FunctionDigests", description: "Functions of code mode in brief." });

/** The most functions that one call explains. The API has fewer functions, so one call can explain every function. */
const mostExplained = 200;

const FunctionName = z.string().min(1).max(100);
const NameOrNames = z.strictObject({
  name: z
    .union([FunctionName, z.array(FunctionName).min(1).max(mostExplained)])
    .meta({ description: "The dotted name, or a list of 1 to 200 names.", example: "workspaces.add" }),
});

const common = {
  capability: null,
  open: "The list of functions is public to every caller.",
  access: "read" as const,
};

const getAt = (path = "") => ({ method: "GET" as const, path: `/v1/public/functions${path}` });

/**
 * The functions that describe other functions. `catalogue` returns the catalogue. The catalogue contains these
 * functions too, so it does not exist yet when they are declared. They read it only when they are called.
 */
export const discoveryRoutes = (catalogue: () => Catalogue): Route[] => [
  defineRoute({
    ...common,
    http: getAt(),
    name: "functions.list",
    summary: "List the functions of code mode",
    synonyms: ["what can you do", "possible", "available", "commands", "calls", "tools", "all", "help"],
    description:
      "Every function that a program can call, with the capability that it needs. With `prefix`, only the functions whose names begin with it. With `account_id`, only the functions that you may call in that account, for all or some of its resources. In a suspended account, only the writes that are still allowed are listed. In a closed account, no write to the account is listed.",
    scope: "visible",
    query: z.strictObject({
      prefix: z.string().max(100).optional().meta({ description: "How the names begin.", example: "mailboxes." }),
      account_id: Id.optional().meta({ description: "The account in which you want to call the functions." }),
    }),
    output: functionList("The functions, always in the same order.").meta({ id: "FunctionList" }),
    problems: ["not_found"],
    run: async ({ query: { prefix = "", account_id: accountId } }, { permissions, table }) => {
      const account = accountId === undefined ? undefined : await table.get(accountKey(accountId), StoredAccount);
      const isListed = ({ route }: CodeFunction): boolean =>
        route.name.startsWith(prefix) && (accountId === undefined || mayCall(route, permissions, account?.status));
      return { functions: [...catalogue().values()].filter(isListed).map(summaryOf) };
    },
  }),
  defineRoute({
    ...common,
    http: getAt("/search"),
    name: "functions.search",
    summary: "Find functions by words",
    synonyms: ["look for", "how to", "which"],
    description:
      "The ten functions that match best. A word counts most in a name, a summary or the function's synonyms, and least in parameters and descriptions. A word of the query also matches longer words that begin with it. If a longer word of the query matches nothing, the most similar word counts instead. Only the first twelve different words of the query are used.",
    query: z.strictObject({
      query: z.string().min(1).max(200).meta({ description: "Words, in any order.", example: "reset password" }),
    }),
    output: functionList("The functions that match, best first.").meta({ id: "FunctionMatches" }),
    run: async ({ query: { query } }) => ({ functions: searchFunctions(catalogue(), query).map(summaryOf) }),
  }),
  defineRoute({
    ...common,
    http: getAt("/explain"),
    name: "functions.explain",
    summary: "Explain functions",
    synonyms: ["help", "describe", "arguments", "parameters", "details", "how"],
    description:
      "For one name: the parameters, answer, capability, score and errors of the function, with an example. For a list of names: the types of the parameters and of the answer, the capability and the score of each function.",
    query: NameOrNames,
    output: z.union([FunctionExplanation, FunctionDigests]),
    run: async ({ query: { name } }) => explain(name, catalogue()),
  }),
];

const explain = (name: string | readonly string[], catalogue: Catalogue) =>
  typeof name === "string"
    ? explanationOf(functionNamed(name, ["name"], catalogue))
    : digestsOf(name.map((item, index) => functionNamed(item, ["name", index], catalogue)));

function functionNamed(name: string, path: (string | number)[], catalogue: Catalogue): CodeFunction {
  const fn = catalogue.get(name);
  if (fn) return fn;
  const meant = closestName(name, catalogue.keys()) ?? searchFunctions(catalogue, name)[0]?.route.name;
  const hint = meant === undefined ? "" : `: did you mean ${meant}?`;
  throw invalidAt(["query", ...path], `There is no function of this name${hint}`, "not_found");
}

const summaryOf = (fn: CodeFunction) => ({
  name: fn.route.name,
  signature: signatureOf(fn),
  summary: fn.route.summary,
  access: fn.route.access,
  capability: fn.route.capability,
});

/** The score of one call. The default page size of a list, 25, does not raise the score. */
const scoreOf = (fn: CodeFunction): number => unitsOf(fn, undefined) / scoreUnit;

/** The codes of a route's problems. A route with a condition on the account also fails with the condition's code. */
const problemCodesOf = ({ problems, requires }: CodeFunction["route"]) =>
  requires ? [...problems, requires.code] : problems;

function explanationOf(fn: CodeFunction) {
  const { route } = fn;
  const schema = outputSchemaOf(fn);
  return {
    ...summaryOf(fn),
    description: route.description === "" ? `${route.summary}.` : route.description,
    score: scoreOf(fn),
    parameters: parametersOf(fn),
    output: describeType(schema, schema.$defs),
    problems: problemCodesOf(route).map((code) => ({ code, ...problemOf(code) })),
    example: exampleOf(fn),
  };
}

type Definitions = Readonly<Record<string, Schema>>;

/** The rules of the notation. `functions.explain` returns them together with the types. */
const notation =
  "`name?` may be left out; a member without a type is a string; `[x]` is a list of x; `x|null` may be null; `(1..9)` bounds a number, a length or a count; `= x` is a default; capitalised names are in `types`.";

type NotationOptions = {
  definitions?: Definitions;
  /** The definitions that are written by name, without their members. */
  named?: ReadonlySet<string>;
  /** Whether formats and bounds are written. Only a caller who writes an argument needs them. */
  isExact?: boolean;
};

/**
 * Writes the type of a JSON schema in a short notation: `{id, size: integer, status: 'active'|'paused', tags: [Tag]}`.
 */
function formatType(schema: Schema | boolean, options: NotationOptions = {}): string {
  if (typeof schema === "boolean") return "any";
  const { definitions = {}, named, isExact = false } = options;
  const name = schema.$ref?.replace("#/$defs/", "");
  if (name !== undefined) return named?.has(name) ? name : formatType(definitions[name] ?? true, options);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => formatType(choice, options)))].join("|");
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (values) return values.map((value) => (typeof value === "string" ? `'${value}'` : String(value))).join("|");
  switch (schema.type) {
    case "array": {
      const { items = true, minItems, maxItems } = schema;
      return `[${formatType(Array.isArray(items) ? true : items, options)}]${isExact ? range(minItems, maxItems) : ""}`;
    }
    case "object":
      return schema.properties ? `{${formatMembers(schema, options)}}` : "dict";
    case "string":
      return isExact ? (schema.format ?? `string${range(schema.minLength, schema.maxLength)}`) : "string";
    case "integer":
    case "number":
      return `${schema.type}${isExact ? range(schema.minimum, schema.maximum) : ""}`;
    case undefined:
      return "any";
    default:
      return [schema.type].flat().join("|");
  }
}

/** Writes the members of an object, or the arguments of a function: `id: uuid, name, page?: integer(1..) = 1`. */
const formatMembers = ({ properties = {}, required = [] }: Schema, options: NotationOptions = {}): string =>
  Object.entries(properties)
    .map(([name, member]) => {
      const type = formatType(member, options);
      const preset = typeof member === "object" ? member.default : undefined;
      const parts = [name, required.includes(name) ? "" : "?", type === "string" ? "" : `: ${type}`];
      return `${parts.join("")}${preset === undefined ? "" : ` = ${JSON.stringify(preset)}`}`;
    })
    .join(", ");

function range(from: number | undefined, to: number | undefined): string {
  // zod bounds every integer by the safe integers.
  const [least, most] = [from, to].map((bound) => (Math.abs(bound ?? Infinity) < Number.MAX_SAFE_INTEGER ? bound : ""));
  return least === "" && most === "" ? "" : `(${least}..${most})`;
}

/** Explains functions in brief. `types` has the named types that occur in the answers of several functions. */
function digestsOf(functions: readonly CodeFunction[]) {
  const outputs = functions.map((fn) => outputSchemaOf(fn).$defs ?? {});
  const definitions: Definitions = Object.assign({}, ...outputs);
  const uses = Map.groupBy(outputs.flatMap(Object.keys), (name: string) => name);
  const isShared = (name: string): boolean => (uses.get(name)?.length ?? 0) > 1;
  const named = new Set([...uses.keys()].filter(isShared));
  const options = { definitions, named };
  return {
    functions: functions.map((fn) => {
      const input = inputSchemaOf(fn);
      const parameters = formatMembers(input, { definitions: input.$defs ?? {}, isExact: true });
      return {
        signature: `${fn.route.name}(${parameters})`,
        output: formatType(outputSchemaOf(fn), options),
        access: fn.route.access,
        capability: fn.route.capability,
        score: scoreOf(fn),
      };
    }),
    types: Object.fromEntries([...named].map((name) => [name, formatType(definitions[name] ?? true, options)])),
    notation,
  };
}
