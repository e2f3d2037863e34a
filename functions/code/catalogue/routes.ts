import * as z from "zod";

import { StoredAccount, accountKey } from "../../../shared/accounts/account.ts";
import { InvalidInput, problemOf } from "../../../shared/core/errors.ts";
import { Id } from "../../../shared/core/ids.ts";
import { mayCall } from "../../../shared/http/may-call.ts";
import { type Route, defineRoute } from "../../../shared/http/route.ts";
import { closestName } from "../language/spelling.ts";
import { exampleOf } from "./example.ts";
import { type Catalogue, type CodeFunction, scoreUnit, unitsOf } from "./function.ts";
import { searchFunctions } from "./search.ts";
import { Parameter, parametersOf, signatureOf, describeType } from "./signature.ts";

const FunctionSummary = z
  .object({
    name: z.string().meta({ description: "The dotted name." }),
    signature: z.string().meta({ description: "The name with its parameters; `?` marks those that may be left out." }),
    summary: z.string().meta({ description: "What it does." }),
    access: z.enum(["read", "write"]).meta({ description: "Whether it only reads." }),
  })
  .meta({ id: "FunctionSummary", description: "A function of code mode." });

const functions = (description: string) =>
  z
    .object({ functions: z.array(FunctionSummary).meta({ description }) })
    .meta({ description: "Functions of code mode." });

const FunctionExplanation = FunctionSummary.extend({
  description: z.string().meta({ description: "What it does, in full." }),
  capability: z.string().nullable().meta({ description: "What the caller must hold; null when a token is enough." }),
  score: z
    .number()
    .meta({ description: "What one call adds to the complexity score; of a list, with its default page size." }),
  parameters: z.array(Parameter).meta({ description: "Its parameters." }),
  output: z.string().meta({ description: "What it answers, in words: a dict's members with their types." }),
  problems: z
    .array(
      z.object({
        code: z.string().meta({ description: "The error's stable code." }),
        status: z.int().meta({ description: "The HTTP status that REST answers with." }),
        title: z.string().meta({ description: "What it means." }),
      }),
    )
    .meta({ description: "The errors of its own; those of every function are not listed." }),
  example: z.string().meta({ description: "A call with the required arguments, made up." }),
}).meta({ id: "FunctionExplanation", description: "All there is to know of a function of code mode." });

const common = {
  capability: null,
  open: "Which functions there are is no secret.",
  access: "read" as const,
};

const at = (path = "") => ({ method: "GET" as const, path: `/v1/public/functions${path}` });

/**
 * The functions that describe other functions. They read the catalogue only when called, because it contains them too.
 */
export const discoveryRoutes = (catalogue: () => Catalogue): Route[] => [
  defineRoute({
    ...common,
    http: at(),
    name: "functions.list",
    summary: "List the functions of code mode",
    description:
      "Every function that a program may call, or those whose names begin with a prefix. With `account_id` exactly those that you may call in that account, be it for a few of its things only; while it is suspended or closed, what changes it is left out.",
    scope: "visible",
    query: z.strictObject({
      prefix: z.string().max(100).optional().meta({ description: "What the names begin with.", example: "mailboxes." }),
      account_id: Id.optional().meta({ description: "The account in which you want to call them." }),
    }),
    output: functions("The functions, in the order of the reference.").meta({ id: "FunctionList" }),
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
    http: at("/search"),
    name: "functions.search",
    summary: "Find functions by words",
    description:
      "The ten functions that fit best: words count most in the name, then in the summary, then in parameters and description; a word may begin another one, and one of a name may be misspelt. The first eight words count.",
    query: z.strictObject({
      query: z.string().min(1).max(200).meta({ description: "Words, in any order.", example: "reset password" }),
    }),
    output: functions("The functions that fit, best first.").meta({ id: "FunctionMatches" }),
    run: async ({ query: { query } }) => ({ functions: searchFunctions(catalogue(), query).map(summaryOf) }),
  }),
  defineRoute({
    ...common,
    http: at("/explain"),
    name: "functions.explain",
    summary: "Explain one function",
    description: "A function's parameters, answer, capability, score and errors, with an example.",
    query: z.strictObject({
      name: z.string().min(1).max(100).meta({ description: "The dotted name.", example: "workspaces.add" }),
    }),
    output: FunctionExplanation,
    run: async ({ query: { name } }) => explanationOf(functionNamed(name, catalogue())),
  }),
];

function functionNamed(name: string, catalogue: Catalogue): CodeFunction {
  const fn = catalogue.get(name);
  if (fn) return fn;
  const meant =
    closestName(name, catalogue.keys()) ?? searchFunctions(catalogue, name.replaceAll(/[._]/g, " "))[0]?.route.name;
  const hint = meant === undefined ? "" : `: did you mean ${meant}?`;
  throw new InvalidInput([
    { loc: ["query", "name"], msg: `There is no function of this name${hint}`, type: "not_found" },
  ]);
}

const summaryOf = (fn: CodeFunction) => ({
  name: fn.route.name,
  signature: signatureOf(fn),
  summary: fn.route.summary,
  access: fn.route.access,
});

function explanationOf(fn: CodeFunction) {
  const { route } = fn;
  const schema = z.toJSONSchema(route.output, { io: "output", unrepresentable: "any" });
  const isList = Object.hasOwn(route.query.shape, "page_size");
  return {
    ...summaryOf(fn),
    description: route.description === "" ? `${route.summary}.` : route.description,
    capability: route.capability,
    score: unitsOf(fn, isList ? scoreUnit : undefined) / scoreUnit,
    parameters: parametersOf(fn),
    output: describeType(schema, schema.$defs),
    problems: route.problems.map((code) => ({ code, ...problemOf(code) })),
    example: exampleOf(fn),
  };
}
