import { type Argument, type Expression, type Position, describeExpression } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";
import { type StepBudget, requireSize } from "./budget.ts";
import { type StaticType, type TypeName, isPage, wrongType } from "./types.ts";
import { type Constant, isPageValue, typeError, typeOf } from "./values.ts";

/** A parameter of a builtin or, if it is the first one of a method, the value before the dot. */
export type BuiltinParameter = {
  name: string;
  /** The types that it takes; any without them. */
  types?: readonly TypeName[];
  /** Names the types in messages, if a list of the types would not be clear. */
  takes?: string;
  optional?: true;
  /** Whether it is given by name only. */
  named?: true;
  /** Whether it takes all the values that are left. It is the last parameter. */
  rest?: true;
  /** Whether the items of the value are read. A page is refused then: its items are in a member. */
  iterated?: true;
};

/** An argument before the run: its static type, and its value if the program writes it out. */
export type StaticArgument = { type: StaticType; literal: Constant | undefined };

/** The reason why an argument is always invalid. `index` is the parameter's, from 0. */
export type InvalidArgument = { code: string; message: string; index: number };

/** The position of a call of a builtin, the positions of its arguments, and the steps that the program has left. */
export type BuiltinRun = { at: Position; placeOf: (index: number) => Position; budget: StepBudget };

/** A function of the language, `len(x)`, or a method, `text.lower()`. */
export type Builtin = {
  name: string;
  isMethod?: true;
  /** What it does, as a clause of a sentence, where the name is not enough. */
  note?: string;
  parameters: readonly BuiltinParameter[];
  /** The static type of the result, or the reason why the call always fails. Arguments are in the parameters' order. */
  check: (args: readonly (StaticArgument | undefined)[]) => StaticType | InvalidArgument;
  /** The result. Uses a step for each item that is read; its size is counted by the caller. Throws LanguageError. */
  evaluate: (args: readonly unknown[], run: BuiltinRun) => unknown;
};

/** A call of a builtin. `receiver` describes the value before the dot of a method. */
export type CallOfBuiltin = { args: readonly Argument[]; at: Position; receiver?: () => string };

/** A builtin as a program calls it: `range(n, stop?, step?)`, `text.split(separator?)`. */
export function formOf({ name, isMethod, parameters }: Builtin): string {
  const [receiver, ...others] = parameters;
  const shown = (isMethod ? others : parameters).map(
    ({ name, optional, rest, named }) => `${name}${named ? "=" : ""}${rest ? "…" : optional ? "?" : ""}`,
  );
  return `${isMethod && receiver ? `${receiver.name}.` : ""}${name}(${shown.join(", ")})`;
}

/** Values in the order of the parameters, each with the expression that it comes from. */
type Bound<T> = { values: (T | undefined)[]; sources: (Expression | undefined)[] };

/**
 * Puts values, of a method its receiver first, in the order of the parameters. Throws LanguageError if an argument is
 * unknown or missing.
 */
function bind<T>(builtin: Builtin, { args, at }: CallOfBuiltin, given: readonly T[]): Bound<T> {
  const { name, isMethod, parameters, note } = builtin;
  const first = isMethod ? 1 : 0;
  const bound: Bound<T> = { values: given.slice(0, first), sources: Array(first) };
  let next = first;
  for (const [index, argument] of args.entries()) {
    const isNamed = argument.name !== "";
    const place = isNamed ? parameters.findIndex((one) => one.named && one.name === argument.name) : next++;
    const parameter = parameters[place] ?? parameters.at(-1);
    if (isNamed ? place < 0 : parameter?.named || (place >= parameters.length && !parameter?.rest)) {
      const names = parameters.flatMap((one) => (one.named ? one.name : []));
      const meant = closestName(argument.name, names);
      const found = isNamed ? `${name} has no argument ${clip(argument.name)}` : `${name} takes fewer values`;
      const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
      throw new LanguageError(argument.at, `${found}: it is ${formOf(builtin)}.${hint}`, { code: "unknown_argument" });
    }
    bound.values[place] = given[first + index];
    bound.sources[place] = argument.value;
  }
  const isMissing = parameters.some(({ optional, rest }, place) => !optional && !rest && !(place in bound.values));
  if (!isMissing) return bound;
  const shown = `${formOf(builtin)}${note === undefined ? "" : `, ${note}`}`;
  throw new LanguageError(at, `${name} needs more values: it is ${shown}.`, { code: "missing_argument" });
}

const words: Record<TypeName, string> = {
  null: "None",
  boolean: "a boolean",
  number: "a number",
  string: "a text",
  list: "a list",
  dict: "a dict",
};
const anyOf = (names: readonly string[]): string => new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names);

function wrongArgument(
  { name, isMethod }: Builtin,
  index: number,
  { types, takes }: BuiltinParameter,
  found: TypeName,
) {
  const expected = takes ?? anyOf((types ?? []).map((type) => words[type]));
  return isMethod && index === 0
    ? `${name} is a method of ${expected}, not of a ${found}.`
    : `${name} takes ${expected}, not a ${found}.`;
}

const pageGiven = ({ isMethod }: Builtin, index: number, of: string): string =>
  `${of} is a page: its items are in ${of}.items${isMethod && index === 0 ? ", without the brackets" : ""}.`;

/** The parameter of a value: those of the last one are many. */
const parameterAt = ({ parameters }: Builtin, index: number): BuiltinParameter | undefined =>
  parameters[Math.min(index, parameters.length - 1)];

const sourceTextOf = ({ sources }: Bound<unknown>, { receiver }: CallOfBuiltin, index: number): string => {
  const source = sources[index];
  return source ? describeExpression(source) : (receiver?.() ?? "the value");
};

/** A mistake in a call of a builtin, with its position and the types of the arguments. */
type Mistake = { code: string; message: string; at: Position };

/** The static type of a builtin's result, or the reason why a call with these arguments always fails. */
export function checkBuiltin(
  builtin: Builtin,
  call: CallOfBuiltin,
  given: readonly StaticArgument[],
): StaticType | Mistake {
  let bound: Bound<StaticArgument>;
  try {
    bound = bind(builtin, call, given);
  } catch (error) {
    if (error instanceof LanguageError) return error.diagnostic;
    throw error;
  }
  const placeOf = (index: number): Position => bound.sources[index]?.at ?? call.at;
  for (const [index, argument] of bound.values.entries()) {
    const parameter = parameterAt(builtin, index);
    if (!argument || !parameter) continue;
    if (parameter.iterated && isPage(argument.type)) {
      return {
        code: "type_error",
        message: pageGiven(builtin, index, sourceTextOf(bound, call, index)),
        at: placeOf(index),
      };
    }
    const found = parameter.types && wrongType(argument.type, allowed(parameter));
    if (found) {
      return { code: "type_error", message: wrongArgument(builtin, index, parameter, found), at: placeOf(index) };
    }
  }
  const result = builtin.check(bound.values);
  return "message" in result ? { ...result, at: placeOf(result.index) } : result;
}

/** None may be given for a text, or by name, that may be left out. */
const allowed = ({ types = [], optional, named }: BuiltinParameter): readonly TypeName[] =>
  optional && (named || types.includes("string")) ? [...types, "null"] : types;

/**
 * Evaluates a call of a builtin with the values of its arguments, of a method its receiver first. Throws `type_error` at
 * an argument of a wrong type, and `value_too_large` or `too_much_work` for a result beyond the limits.
 */
export function evaluateBuiltin(
  builtin: Builtin,
  call: CallOfBuiltin,
  given: readonly unknown[],
  budget: StepBudget,
): unknown {
  const bound = bind(builtin, call, given);
  const placeOf = (index: number): Position => bound.sources[index]?.at ?? call.at;
  for (const [index, value] of bound.values.entries()) {
    const parameter = parameterAt(builtin, index);
    if (!parameter || !(index in bound.values)) continue;
    if (parameter.iterated && isPageValue(value)) {
      throw typeError(placeOf(index), pageGiven(builtin, index, sourceTextOf(bound, call, index)));
    }
    const found = typeOf(value);
    if (parameter.types && !allowed(parameter).includes(found)) {
      throw typeError(placeOf(index), wrongArgument(builtin, index, parameter, found));
    }
    if (parameter.optional) bound.values[index] = value ?? undefined;
  }
  return requireSize(builtin.evaluate(bound.values, { at: call.at, placeOf, budget }), budget, call.at);
}
