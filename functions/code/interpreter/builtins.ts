import type { Program } from "../language/ast.ts";
import { type BuiltinNames, parse } from "../language/parser.ts";
import { type Builtin, formOf } from "./builtin.ts";
import { functionTable } from "./functions.ts";
import { methodTable } from "./methods.ts";

const byName = (table: readonly Builtin[]): ReadonlyMap<string, Builtin> =>
  new Map(table.map((builtin) => [builtin.name, builtin]));

/** The functions of the language by name. */
export const builtins = byName(functionTable);

/** The methods of the language's values by name. */
export const builtinMethods = byName(methodTable);

const builtinList = `the built-in functions are ${functionTable.map(formOf).join(", ")}.`;

/** The hints for builtins of Python that this language does not have, and for the names of the MCP tools. */
export const missingBuiltins: ReadonlyMap<string, string> = new Map(
  Object.entries({
    print: "There is no print: write the value alone on the last line, and the answer has the value as last_value.",
    map: "There is no map(): write a comprehension, `[x.id for x in xs]`.",
    filter: "There is no filter(): write a comprehension, `[x for x in xs if x.active]`.",
    set: "There is no set(): `list(dict([[x, True] for x in xs]))` holds each text once.",
    next: "There is no next(): write `[x for x in xs if x.active][0]`.",
    isinstance:
      'There is no isinstance(): functions.explain(name="…") tells the types of an answer. `x == None` tests for None.',
    input: "There is no input(): write the values in the program.",
    ...Object.fromEntries(
      ["service_execute", "service_query"].map((name) => [
        name,
        `${name} is the tool that runs this program, and not a function: write only the program, such as \`domains.list(account_id="…")\`.`,
      ]),
    ),
    tuple: "There is no tuple(): write a list, `[a, b]`.",
    ...Object.fromEntries(["type", "abs", "round"].map((name) => [name, `There is no ${name}(): ${builtinList}`])),
    ...Object.fromEntries(
      ["help", "dir", "vars"].map((name) => [
        name,
        `There is no ${name}(): functions.search(query="…") finds functions, and functions.explain(name="…") tells what a function takes and answers.`,
      ]),
    ),
  }),
);

const noModules = "There are no modules, so there is no";

/** The hints for modules of Python, by the name before the first dot. This language has no modules. */
export const missingModules: ReadonlyMap<string, string> = new Map([
  ["json", `${noModules} json. Answers are values already, and an f-string, f"{x}", writes a list or dict as JSON.`],
  ...["datetime", "date", "time"].map((name): [string, string] => [
    name,
    `${noModules} ${name}. Programs have no clock and cannot wait. Write a time as a text, "2026-01-31T00:00:00Z".`,
  ]),
  ...["math", "re", "random", "os", "sys", "requests", "collections", "itertools"].map((name): [string, string] => [
    name,
    `${noModules} ${name}: ${builtinList}`,
  ]),
]);

const builtinNames: BuiltinNames = {
  functions: builtins,
  methods: new Map(
    methodTable.map(({ name, parameters }) => [
      name,
      // The first parameter of a method is its receiver, which is no argument.
      { least: parameters.filter(({ optional }) => !optional).length - 1 },
    ]),
  ),
  missing: missingBuiltins,
};

/** Parses a program that may call the builtins of the tables. Throws LanguageError at the first mistake. */
export const parseProgram = (source: string): Program => parse(source, builtinNames);
