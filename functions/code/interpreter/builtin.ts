import { type Argument, type Expression, type Position, describeExpression } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";
import { type StepBudget, requireSize } from "./budget.ts";
import { type StaticType, type TypeName, isPage, wrongType } from "./types.ts";
import { type Constant, isPageValue, typeError, typeOf } from "./values.ts";

/** A parameter of a builtin. The first parameter of a method is the value before the dot. */
export type BuiltinParameter = {
  name: string;
  /** The types that the parameter takes. Without `types`, the parameter takes every type. */
  types?: readonly TypeName[];
  /** The words for the types in messages, if a list of the types would not be clear. */
  takes?: string;
  optional?: true;
  /** Whether the argument must have a name, as in `key="name"`. */
  named?: true;
  /** Whether the parameter takes all remaining values. Only the last parameter can do this. */
  rest?: true;
  /** Whether the builtin reads the items of the value. A page is then refused, because its items are in a member. */
  iterated?: true;
};

/** An argument before the run: its static type, and its value if the checker knows the value. */
export type StaticArgument = { type: StaticType; literal: Constant | undefined };

/** The reason why an argument is always invalid. `index` is the index of the parameter, from 0. */
export type InvalidArgument = { code: string; message: string; index: number };

/**
 * The position of a call of a builtin, the position of the argument for each parameter, and the steps that the program
 * has left.
 */
export type BuiltinRun = { at: Position; positionOf: (index: number) => Position; budget: StepBudget };

/** A function of the language, such as `len(x)`, or a method, such as `text.lower()`. */
export type Builtin = {
  name: string;
  isMethod?: true;
  /** A clause about the effect of the builtin, if its name is not clear enough. */
  note?: string;
  parameters: readonly BuiltinParameter[];
  /**
   * The static type of the result, or the reason why the call always fails. `args` are in the order of the parameters.
   */
  check: (args: readonly (StaticArgument | undefined)[]) => StaticType | InvalidArgument;
  /**
   * Returns the result. Uses steps for the items and characters that the builtin reads. The steps for the size of the
   * result are used by `evaluateBuiltin`. Throws LanguageError.
   */
  evaluate: (args: readonly unknown[], run: BuiltinRun) => unknown;
};

/** A call of a builtin. For a method, `receiver` returns the value before the dot, as the program writes it. */
export type BuiltinArguments = { args: readonly Argument[]; at: Position; receiver?: () => string };

/** A builtin as a program calls it: `range(n, stop?, step?)`, `text.split(separator?)`. */
export function formOf({ name, isMethod, parameters }: Builtin): string {
  const [receiver, ...others] = parameters;
  const shown = (isMethod ? others : parameters).map(({ name, optional, rest, named }) => {
    const ending = optional ? "?" : "";
    return `${name}${named ? "=" : ""}${rest ? "…" : ending}`;
  });
  return `${isMethod && receiver ? `${receiver.name}.` : ""}${name}(${shown.join(", ")})`;
}

/** The values of a call in the order of the parameters, each with the expression of its argument. */
type Bound<T> = { values: (T | undefined)[]; sources: (Expression | undefined)[] };

/**
 * Puts the values of a call in the order of the parameters. The first value of a method is its receiver. Throws
 * LanguageError if an argument is unknown or missing.
 */
function bind<T>(builtin: Builtin, { args, at }: BuiltinArguments, callValues: readonly T[]): Bound<T> {
  const { name, isMethod, parameters, note } = builtin;
  const receiverCount = isMethod ? 1 : 0;
  const bound: Bound<T> = { values: callValues.slice(0, receiverCount), sources: Array(receiverCount) };
  let next = receiverCount;
  for (const [index, argument] of args.entries()) {
    const isNamed = argument.name !== "";
    const parameterIndex = isNamed ? parameters.findIndex((one) => one.named && one.name === argument.name) : next;
    if (!isNamed) next += 1;
    const isTaken = isNamed ? parameterIndex >= 0 : takesValueAt(builtin, parameterIndex);
    if (!isTaken) throw unknownArgument(builtin, argument);
    bound.values[parameterIndex] = callValues[receiverCount + index];
    bound.sources[parameterIndex] = argument.value;
  }
  const isMissing = parameters.some(({ optional, rest }, index) => !optional && !rest && !(index in bound.values));
  if (!isMissing) return bound;
  const shown = `${formOf(builtin)}${note === undefined ? "" : `, ${note}`}`;
  throw new LanguageError(at, `${name} needs more values: it is ${shown}.`, { code: "missing_argument" });
}

/** Whether a builtin takes a value without a name at `index`. */
function takesValueAt(builtin: Builtin, index: number): boolean {
  const parameter = parameterAt(builtin, index);
  if (!parameter || parameter.named) return false;
  return index < builtin.parameters.length || parameter.rest === true;
}

function unknownArgument(builtin: Builtin, argument: Argument): LanguageError {
  const { name, parameters } = builtin;
  const meant = closestName(
    argument.name,
    parameters.flatMap((one) => (one.named ? one.name : [])),
  );
  const fault = argument.name === "" ? `${name} takes fewer values` : `${name} has no argument ${clip(argument.name)}`;
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return new LanguageError(argument.at, `${fault}: it is ${formOf(builtin)}.${hint}`, { code: "unknown_argument" });
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

const pageMessage = ({ isMethod }: Builtin, index: number, of: string): string =>
  `${of} is a page: its items are in ${of}.items${isMethod && index === 0 ? ", without the brackets" : ""}.`;

/** The parameter that takes the value at `index`. The last parameter takes all further values. */
const parameterAt = ({ parameters }: Builtin, index: number): BuiltinParameter | undefined =>
  parameters[Math.min(index, parameters.length - 1)];

const sourceTextOf = ({ sources }: Bound<unknown>, { receiver }: BuiltinArguments, index: number): string => {
  const source = sources[index];
  return source ? describeExpression(source) : (receiver?.() ?? "the value");
};

/** A mistake in a call of a builtin. */
type Mistake = { code: string; message: string; at: Position };

/** The static type of a builtin's result, or the reason why a call with these arguments always fails. */
export function checkBuiltin(
  builtin: Builtin,
  call: BuiltinArguments,
  args: readonly StaticArgument[],
): StaticType | Mistake {
  let bound: Bound<StaticArgument>;
  try {
    bound = bind(builtin, call, args);
  } catch (error) {
    if (error instanceof LanguageError) return error.diagnostic;
    throw error;
  }
  const positionOf = (index: number): Position => bound.sources[index]?.at ?? call.at;
  for (const [index, argument] of bound.values.entries()) {
    const parameter = parameterAt(builtin, index);
    if (!argument || !parameter) continue;
    if (parameter.iterated && isPage(argument.type)) {
      return {
        code: "type_error",
        message: pageMessage(builtin, index, sourceTextOf(bound, call, index)),
        at: positionOf(index),
      };
    }
    const found = parameter.types && wrongType(argument.type, acceptedTypes(parameter));
    if (found) {
      return { code: "type_error", message: wrongArgument(builtin, index, parameter, found), at: positionOf(index) };
    }
  }
  const result = builtin.check(bound.values);
  return "message" in result ? { ...result, at: positionOf(result.index) } : result;
}

/** The types that a parameter takes. An optional text, and an optional argument with a name, may also be None. */
const acceptedTypes = ({ types = [], optional, named }: BuiltinParameter): readonly TypeName[] =>
  optional && (named || types.includes("string")) ? [...types, "null"] : types;

/**
 * Evaluates a call of a builtin with the values of its arguments. The first value of a method is its receiver. Throws
 * LanguageError, such as `type_error` at an argument of a wrong type, or `value_too_large` for a result beyond the
 * limit.
 */
export function evaluateBuiltin(
  builtin: Builtin,
  call: BuiltinArguments,
  values: readonly unknown[],
  budget: StepBudget,
): unknown {
  const bound = bind(builtin, call, values);
  const positionOf = (index: number): Position => bound.sources[index]?.at ?? call.at;
  for (const [index, value] of bound.values.entries()) {
    const parameter = parameterAt(builtin, index);
    if (!parameter || !(index in bound.values)) continue;
    if (parameter.iterated && isPageValue(value)) {
      throw typeError(positionOf(index), pageMessage(builtin, index, sourceTextOf(bound, call, index)));
    }
    const found = typeOf(value);
    if (parameter.types && !acceptedTypes(parameter).includes(found)) {
      throw typeError(positionOf(index), wrongArgument(builtin, index, parameter, found));
    }
    // None stands for an argument that is left out.
    if (parameter.optional) bound.values[index] = value ?? undefined;
  }
  return requireSize(builtin.evaluate(bound.values, { at: call.at, positionOf, budget }), budget, call.at);
}
