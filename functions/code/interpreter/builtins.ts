import type { BuiltinCall, Position, Program } from "../language/ast.ts";
import { stepLimit } from "../language/limits.ts";
import { type BuiltinNames, type BuiltinSyntax, formOf, parse } from "../language/parser.ts";
import { type StepBudget, requireSize, sizeOf, tooMuchWork, useSteps } from "./budget.ts";
import { type StaticType, type TypeName, itemType, plainType, wrongType } from "./types.ts";
import { type Constant, add, typeError, typeOf } from "./values.ts";

/**
 * A parameter and the types that it takes. `takes` names the types in messages, if a list of the types would not be
 * clear.
 */
type Parameter = { name: string; types: readonly TypeName[]; takes?: string };

/** An argument before the run: its static type, and its value if the program writes it out. */
export type StaticArgument = { type: StaticType; literal: Constant | undefined };

/** The reason why an argument is always invalid. `index` is the argument's, from 0. */
export type InvalidArgument = { code: string; message: string; index: number };

/** The position of a call of a builtin, the positions of its arguments, and the steps that the program has left. */
type Run = { at: Position; placeOf: (index: number) => Position; budget: StepBudget };

/** A function of the language. Its arguments are in the order of its parameters, and of the parameters' types. */
export type Builtin = Omit<BuiltinSyntax, "parameters"> & {
  parameters: readonly Parameter[];
  /** Whether the builtin can be called only after the `in` of a comprehension. */
  onlyAfterIn?: true;
  /** The static type of the result, or the reason why the call always fails. */
  check: (args: readonly StaticArgument[]) => StaticType | InvalidArgument;
  /** The result. Uses a step for each item that is read; its size is counted by the caller. Throws LanguageError. */
  evaluate: (args: readonly unknown[], run: Run) => unknown;
};

const table: readonly Builtin[] = [
  {
    name: "len",
    parameters: [{ name: "x", types: ["string", "list", "dict"] }],
    check: () => plainType("number"),
    evaluate: ([x], { at, budget }) => {
      if (typeof x !== "string") return sizeOf(x).members;
      useSteps(budget, x.length >> 4, at);
      return Array.from(x).length;
    },
  },
  {
    name: "range",
    parameters: [{ name: "n", types: ["number"], takes: "a whole number" }],
    note: "which counts from 0 to n - 1",
    onlyAfterIn: true,
    check: ([n]) => {
      if (typeof n?.literal !== "number") return { type: "list", item: plainType("number") };
      if (n.literal > stepLimit) return { code: "too_much_work", message: tooMuchWork, index: 0 };
      if (!Number.isInteger(n.literal)) return notWhole(n.literal);
      return { type: "list", most: Math.max(0, n.literal), isExact: true, item: plainType("number") };
    },
    evaluate: ([n], { placeOf, budget }) => {
      const count = Number(n);
      if (!Number.isInteger(count)) throw typeError(placeOf(0), notWhole(count).message);
      // Refused before the list takes memory.
      if (count > budget.steps) useSteps(budget, count, placeOf(0));
      return Array.from({ length: Math.max(0, count) }, (_, index) => index);
    },
  },
  {
    name: "sum",
    parameters: [{ name: "xs", types: ["list"], takes: "a list of numbers" }],
    check: ([xs]) => {
      const item = itemType(xs?.type ?? {});
      // A condition may exclude None.
      const found = "type" in item && !item.type.none ? wrongType(item.type, ["number"]) : undefined;
      return found ? notNumbers(found) : plainType("number");
    },
    evaluate: ([xs], { at, placeOf, budget }) => {
      let total: unknown = 0;
      for (const x of xs as unknown[]) {
        useSteps(budget, 1, at);
        if (typeof x !== "number") throw typeError(placeOf(0), notNumbers(typeOf(x)).message);
        total = add(total, x, budget, at);
      }
      return total;
    },
  },
];

const notNumbers = (found: TypeName): InvalidArgument => ({
  code: "type_error",
  message: `sum takes a list of numbers, and an item is a ${found}.`,
  index: 0,
});

const notWhole = (given: number): InvalidArgument => ({
  code: "type_error",
  message: `range takes a whole number, not ${given}.`,
  index: 0,
});

/** The builtins by name. */
export const builtins: ReadonlyMap<string, Builtin> = new Map(table.map((builtin) => [builtin.name, builtin]));

const formsOf = (isAfterIn: boolean): string =>
  table
    .filter(({ onlyAfterIn = false }) => onlyAfterIn === isAfterIn)
    .map(formOf)
    .join(", ");
const others = `the built-in functions are ${formsOf(false)} and, in a comprehension, ${formsOf(true)}.`;
const noOrder = "end with the values, `[x.name for x in xs]`, and order them where you read them.";

/** The hints for functions that are builtins of Python, and none here. */
export const missingBuiltins: ReadonlyMap<string, string> = new Map(
  Object.entries({
    print: "There is no print: end with the value alone on the last line, and it is answered as last_value.",
    str: 'There is no str: write an f-string, f"{x}".',
    enumerate: "There is no enumerate: write `for i in range(len(xs))` and `xs[i]`.",
    zip: "There is no zip: write `for i in range(len(xs))`, and `xs[i]` and `ys[i]`.",
    dict: 'There is no dict(): write {"key": value}.',
    list: "There is no list(): lists are lists already.",
    any: "There is no any(): write `len([x for x in xs if x.active]) > 0`.",
    all: "There is no all(): write `len([x for x in xs if not x.active]) == 0`.",
    map: "There is no map(): write a comprehension, `[x.id for x in xs]`.",
    filter: "There is no filter(): write a comprehension, `[x for x in xs if x.active]`.",
    sorted: `There is no sorted(): ${noOrder}`,
    min: `There is no min(): ${noOrder}`,
    max: `There is no max(): ${noOrder}`,
    reversed: `There is no reversed(): ${noOrder}`,
    int: `There is no int(): ${others}`,
    float: `There is no float(): ${others}`,
    bool: `There is no bool(): ${others}`,
    set: `There is no set(): ${others}`,
    type: `There is no type(): ${others}`,
    ...Object.fromEntries(
      ["help", "dir", "vars"].map((name) => [
        name,
        `There is no ${name}(): functions.search(query="…") finds functions, and functions.explain(name="…") tells what one takes and answers.`,
      ]),
    ),
  }),
);

/** Parses a program whose builtins are those of the table. Throws LanguageError at the first mistake. */
export const parseProgram = (source: string): Program => parse(source, names);
const names: BuiltinNames = { syntax: builtins, missing: missingBuiltins };

const words: Record<TypeName, string> = {
  null: "None",
  boolean: "a boolean",
  number: "a number",
  string: "a text",
  list: "a list",
  dict: "a dict",
};
const anyOf = (names: readonly string[]): string => new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names);

const wrongArgument = (builtin: Builtin, { types, takes }: Parameter, found: TypeName): string =>
  `${builtin.name} takes ${takes ?? anyOf(types.map((type) => words[type]))}, not a ${found}.`;

/** The static type of a builtin's result, or the reason why a call with these arguments always fails. */
export function checkBuiltin(builtin: Builtin, args: readonly StaticArgument[]): StaticType | InvalidArgument {
  for (const [index, parameter] of builtin.parameters.entries()) {
    const found = wrongType(args[index]?.type ?? {}, parameter.types);
    if (found) return { code: "type_error", message: wrongArgument(builtin, parameter, found), index };
  }
  return builtin.check(args);
}

/**
 * Evaluates a call of a builtin with the values of its arguments. Throws `type_error` at an argument of a wrong type,
 * and `value_too_large` or `too_much_work` for a result beyond the limits.
 */
export function evaluateBuiltin(call: BuiltinCall, values: readonly unknown[], budget: StepBudget): unknown {
  const builtin = builtins.get(call.name);
  if (!builtin) throw new Error(`${call.name} is no builtin`);
  const placeOf = (index: number): Position => call.args[index]?.value.at ?? call.at;
  for (const [index, parameter] of builtin.parameters.entries()) {
    const found = typeOf(values[index]);
    if (!parameter.types.includes(found)) throw typeError(placeOf(index), wrongArgument(builtin, parameter, found));
  }
  return requireSize(builtin.evaluate(values, { at: call.at, placeOf, budget }), budget, call.at);
}
